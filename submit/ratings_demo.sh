#!/usr/bin/env bash
# The ratings pipeline from nothing to a healthy table, on embedded services, in a clean folder of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

demo=var/ratings-demo
table=$demo/movie_ratings
topic=ratings
count=${COUNT:-10000}
at=$(date +%s)
steps=8 step=0
export ALLUVIUM_SERVICES_DIR=$PWD/$demo/services ALLUVIUM_LOG_DIR=$PWD/$demo/log ALLUVIUM_REPORT_DIR=$PWD/$demo/reports

say() { step=$((step + 1)); printf '\n[%d/%d] %s\n' "$step" "$steps" "$*"; }
finish() {
  local code=$?
  kafka_docker/services stop >/dev/null 2>&1 || true
  [ "$code" -eq 0 ] || echo "the demo failed; its logs are in $demo/log" >&2
}
free_port() { .venv/bin/python -c "from kafka_docker.embedded.ports import free_port; print(free_port())"; }
produce() {
  submit/ratings_producer.sh --brokers "127.0.0.1:$ALLUVIUM_KAFKA_PORT" --topic "$topic" --seed "$1" --count "$count" --at "$at"
}
# A batch rewrites the few files it touches, so a table this small would never have many: small files are made on purpose.
settle() {
  ALLUVIUM_DRIVER_JAVA_OPTIONS=-Dspark.sql.files.maxRecordsPerFile=500 \
    submit/streaming_merge.sh --pipeline ratings "$@" "$table" "127.0.0.1:$ALLUVIUM_KAFKA_PORT" "$topic"
}

say "Build: the environment, the jars, dist/common.zip"
./build.sh
./build.sh --jars kafka registry
trap finish EXIT
kafka_docker/services stop >/dev/null 2>&1 || true
rm -rf "$demo"

say "Start Kafka and the schema registry, create the topic '$topic'"
ALLUVIUM_KAFKA_PORT=$(free_port)
ALLUVIUM_REGISTRY_PORT=$(free_port)
export ALLUVIUM_KAFKA_PORT ALLUVIUM_REGISTRY_PORT
export ALLUVIUM_REGISTRY_URL=http://127.0.0.1:$ALLUVIUM_REGISTRY_PORT/apis/ccompat/v7
kafka_docker/services start kafka registry
kafka_docker/services create-topic "$topic" --partitions 3

say "Create the empty table"
submit/create_table.sh ratings "$table"

say "Produce $count ratings in Avro by five versions of their schema, and settle them as a stream"
produce 1
settle --mode stream

say "The same again, settled from offset to offset, as cron would"
produce 2
settle --mode batch --once

say "What was turned away, and why"
submit/quarantine.sh list --pipeline ratings "$table"

say "Compact the files, of at most 500 rows each here: the plan, then partition by partition"
submit/maintenance.sh compact --all --execute "$table"

say "The table: its rows by day, and every value checked with delta-rs, a reader that shares no code with Spark"
submit/delta_reader.sh --group-by rating_date "$table"
.venv/bin/python -m datasets.verify_ratings --seed 1 --seed 2 --count "$count" --at "$at" "$table"
