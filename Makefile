# `make help` lists the targets; the two that matter are `make demo` and `make test`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MODE ?= batch
ROUNDS ?= 2
SEED ?= 1
# A test session keeps one core busy: two of them make use of two.
WORKERS ?= 2
# The ratings: how many test events, and how many a second (as fast as possible, if empty).
COUNT ?= 10000
RATE ?=
PYTHON := .venv/bin/python
# Whose table create-sink-table, compact-small-files and vacuum are for; its file says where it lies, TABLE= says otherwise.
PIPELINE ?= ratings
TABLE ?=

.PHONY: help docs demo ratings-demo test test-long drill bench bench-growth bench-avro bench-profile bench-settings bench-strategies walk check setup lock kafka-up kafka-down kafka-create-topic \
  kafka-produce-test-events create-sink-table streaming-app-run pyspark compact-small-files vacuum clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-28s %s\n", $$1, $$2}'

demo: ## The temperatures pipeline end to end on embedded services (MODE=batch or MODE=stream)
	@submit/demo.sh $(MODE)

ratings-demo: ## The ratings pipeline: Avro and a schema registry, then compaction (COUNT=10000 events, twice)
	@COUNT=$(COUNT) submit/ratings_demo.sh

test: setup build/classes.jsa ## What CI runs: the checks, then the tests
	@$(MAKE) --no-print-directory check
	@$(PYTHON) -m pytest -m "not long" -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-long: setup ## The tests that `make test` leaves out for their length
	@$(PYTHON) -m pytest -m long

drill: setup build/classes.jsa ## Kill the jobs at every named point, ROUNDS=2 times; resumable, another SEED for other moments
	@./build.sh --jars kafka
	@$(PYTHON) -m tests.faults.drill --rounds $(ROUNDS) --seed $(SEED)

bench: setup build/classes.jsa ## Every contender on the same data, to docs/bench: hours, resumable; QUICK=1 for minutes
	@./build.sh --jars kafka iceberg
	@$(PYTHON) -m tests.bench $(if $(QUICK),--quick)
	@$(if $(QUICK),,$(PYTHON) -m tests.bench.profile)
	@$(PYTHON) -m tests.bench.avro_decoding

bench-growth: setup build/classes.jsa ## Only ours and the append on tables of every size, in turn, to docs/bench/growth; resumable
	@./build.sh --jars kafka iceberg
	@$(PYTHON) -m tests.bench --growth $(if $(QUICK),--quick)

bench-avro: setup ## Only its last part: decoding by five Avro schemas against one plain from_avro, about a minute
	@$(PYTHON) -m tests.bench.avro_decoding

bench-settings: setup ## What each Spark and Delta setting is worth for a small batch, to docs/bench/settings.md: minutes
	@./build.sh --jars kafka iceberg
	@$(PYTHON) -m tests.bench.settings

bench-strategies: setup ## What each merge strategy costs by the size of its candidates, to docs/bench/strategies.md: minutes
	@./build.sh --jars kafka iceberg
	@$(PYTHON) -m tests.bench.strategies

bench-profile: setup ## Where the time of a small and of a large batch goes, to docs/bench/profile.md: minutes
	@./build.sh --jars kafka iceberg
	@$(PYTHON) -m tests.bench.profile

walk: setup ## The way of a record through the files of common/, step by step, to docs/walk.md: a minute
	@./build.sh --jars kafka
	@$(PYTHON) -m tests.walk

build/classes.jsa: conf/jars.lock requirements.txt jobs/class_archive.py | setup
	@submit/class_archive.sh

check: setup ## ruff, mypy strict, the import contract
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo

setup: ## The environment, the jars and dist/common.zip (build.sh)
	@./build.sh

kafka-up: setup ## Start the embedded Kafka broker on port 9092 and the schema registry on 8085
	@kafka_docker/services start kafka registry

kafka-down: ## Stop the embedded services that were started here
	@kafka_docker/services stop

kafka-create-topic: setup ## Create the topic of the ratings
	@kafka_docker/services create-topic ratings --partitions 3 --config retention.ms=-1 --if-not-exists

kafka-produce-test-events: setup ## Send COUNT=10000 ratings to it in Avro, RATE=100 a second
	@submit/ratings_producer.sh --count $(COUNT) $(if $(RATE),--rate $(RATE))

streaming-app-run: setup ## Settle them into their table as they come, until stopped
	@submit/streaming_merge.sh --mode stream --trigger "10 seconds" --pipeline ratings $(or $(TABLE),var/delta/movie_ratings) localhost ratings

create-sink-table: setup ## Create the empty table of PIPELINE=ratings
	@submit/create_table.sh $(PIPELINE) $(TABLE)

pyspark: setup ## The pyspark shell with the pipelines' tables by name, beside whatever runs
	@submit/pyspark.sh

compact-small-files: setup ## Compact the closed partitions of PIPELINE=ratings; ALL=1 for open ones too, PLAN=1 for the plan only
	@submit/maintenance.sh compact --pipeline $(PIPELINE) $(if $(ALL),--all) $(if $(PLAN),,--execute) $(TABLE)

vacuum: setup ## Delete what the table of PIPELINE=ratings has not needed for 7 days; PLAN=1 to see how much only
	@submit/maintenance.sh vacuum --pipeline $(PIPELINE) $(if $(PLAN),,--execute) $(TABLE)

docs: setup ## After a change of a pipeline file's models, or of the types of change data: the tables in docs anew
	@$(PYTHON) -m common.settings.documentation
	@$(PYTHON) -m common.debezium.type_document

lock: setup ## After a change of requirements*.in or conf/jars.lock: pin versions and checksums anew
	@for name in requirements-build requirements requirements-dev; do \
	  .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $$name.in -o $$name.txt || exit 1; \
	done
	@$(PYTHON) submit/jars.py lock

clean: ## Remove what was built and run; the clone is as new
	@kafka_docker/services stop 2>/dev/null || true
	@rm -rf .venv .venv.partial build dist var
