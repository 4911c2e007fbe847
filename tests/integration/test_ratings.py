"""The ratings pipeline on a real broker, a real registry and a real table, against a plain-Python model."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from pyspark.sql import SparkSession

from common.delta.quarantine import Selection
from common.delta.side_tables import WAITING
from common.drivers.batch_loop import BatchLoop
from common.errors import ConfigurationError, RegistryUnreachable, StateError
from common.operations.quarantine import QuarantineTarget, replay
from common.produce.ratings import to_records
from common.registry import client
from datasets.ratings.events import DAY, Event, events
from datasets.ratings.expectation import Model
from datasets.ratings.schemas import schema
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.registry import Registry
from tests.support.avro import field, framed, message, record
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment, run
from tests.support.ratings import Ratings, totals

SEED = 2


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


@pytest.fixture
def ratings(spark: SparkSession, broker: Broker, registry: Registry, tmp_path: Path, reports: Path) -> Ratings:
    return Ratings(spark, broker, registry.url, tmp_path)


def drawn(count: int, seed: int = SEED) -> list[Event]:
    return list(events(seed, count, int(time.time())))


def settled_as_modelled(ratings: Ratings, reports: Path, sent: list[Event], mode: str) -> None:
    """The table, the reasons with their bytes, and accounts that explain every message."""
    model = Model(sent)
    ratings.produce(sent)
    ratings.run(mode)
    assert ratings.rows() == model.rows
    assert Counter(reason for reason, _, _ in ratings.quarantined()) == model.reasons
    found = totals(reports)
    assert (found.rows, found.late, found.quarantined) == (model.count, model.late, model.reasons.total())
    assert found.merge + found.folded == model.count - model.late - model.reasons.total()
    assert found.inserted == len(model.rows)
    assert found.inserted + found.updated == found.merge


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_25_five_schemas_in_one_topic_settle_as_the_model_says(
    spark: SparkSession, broker: Broker, registry: Registry, tmp_path: Path, reports: Path, mode: str
) -> None:
    """Duplicates, updates, late and broken ones among them, over several batches."""
    ratings = Ratings(spark, broker, registry.url, tmp_path, max_records_per_batch=900)
    sent = drawn(2_500)
    assert {event.version for event in sent} == {1, 2, 3, 4, 5}
    assert {event.kind for event in sent} == {"new", "update", "duplicate", "late", "broken"}
    settled_as_modelled(ratings, reports, sent, mode)


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
def test_25_200_000_events(ratings: Ratings, reports: Path) -> None:
    settled_as_modelled(ratings, reports, drawn(200_000), "batch")


@pytest.mark.slow
def test_the_jobs_from_their_own_scripts(ratings: Ratings, registry: Registry, reports: Path) -> None:
    """As a user types them; only the addresses are not the usual ones."""
    ratings.topic, now = ratings.broker.create_topic("ratings", config={"retention.ms": "-1"}), int(time.time())
    environment = clean_environment(ALLUVIUM_REGISTRY_URL=registry.url, ALLUVIUM_REPORT_DIR=str(reports))
    assert run([ROOT / "build.sh"]).returncode == 0
    produce = ["submit/ratings_producer.sh", "--count", "400", "--at", str(now), "--brokers", ratings.broker.address]
    assert run(produce, environment=environment).returncode == 0
    merge = ["submit/streaming_merge.sh", "--mode", "batch", "--once", "--pipeline", "ratings"]
    done = run([*merge, str(ratings.table), ratings.broker.address, "ratings"], environment=environment)
    assert done.returncode == 0, done.stderr
    assert "Schema after conversion from value to avro dataset..." in done.stdout
    model = Model(events(SEED, 400, now))
    assert ratings.rows() == model.rows
    assert Counter(reason for reason, _, _ in ratings.quarantined()) == model.reasons


def new_schema(ratings: Ratings, url: str, subject: str | None = None, **more: Any) -> tuple[int, str]:
    """Registered, and its id. The fields are those of a rating and one that no other schema has."""
    text = record(
        *(field(name, kind) for name, kind in (("event_id", "string"), ("user_id", "string"), ("movie_id", "string"))),
        field("rating", "double"),
        field("is_approved", "boolean"),
        field("rating_timestamp", "long"),
        field(f"only_in_{ratings.topic.replace('-', '_')}", "int", default=0),
        name="Rating",
        namespace="movies",
        **more,
    )
    found = SchemaRegistryClient({"url": url}).register_schema(subject or ratings.subject, Schema(text, "AVRO"))
    return int(found), text


def rating_of(event: Event, text: str, number: int, ratings: Ratings) -> bytes:
    only = f"only_in_{ratings.topic.replace('-', '_')}"
    return message(number, text, {**vars(event.rating), only: 7})


def new_ratings(count: int, seed: int = SEED) -> list[Event]:
    return [event for event in drawn(10 * count, seed) if event.kind == "new"][:count]


def settle_next(driver: BatchLoop) -> None:
    """One more batch of a job that goes on running."""
    assert driver._settle(driver.run.topic.available())


def running(ratings: Ratings) -> BatchLoop:
    driver = ratings.driver()
    assert isinstance(driver, BatchLoop)
    return driver


def test_25_a_new_schema_in_mid_stream_needs_no_restart(ratings: Ratings, registry: Registry) -> None:
    first, second = new_ratings(2)
    driver = running(ratings)
    ratings.produce([first])
    settle_next(driver)
    number, text = new_schema(ratings, registry.url)
    ratings.broker.produce(ratings.topic, [(second.key.encode(), rating_of(second, text, number, ratings))])
    settle_next(driver)
    assert ratings.rows() == Model([first, second]).rows
    assert ratings.quarantined() == []


def test_26_without_a_registry_known_schemas_go_on_and_others_wait(
    spark: SparkSession, broker: Broker, tmp_path: Path, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped for real, and started again: nothing is quarantined for it, and nothing moves."""
    monkeypatch.setattr(client, "PATIENCE_SECONDS", 1.0)
    own = Registry(home=tmp_path / "registry", port=free_port())
    own.start()
    try:
        ratings = Ratings(spark, broker, own.url, tmp_path)
        sent = [replace(event, version=version) for event, version in zip(new_ratings(4), (5, 5, 5, 3), strict=True)]
        records = list(to_records(sent, ratings.serialize))
        driver = running(ratings)
        broker.produce(ratings.topic, records[:1])
        settle_next(driver)
        own.stop()
        broker.produce(ratings.topic, records[1:2])
        settle_next(driver)
        assert ratings.rows() == Model(sent[:2]).rows
        broker.produce(ratings.topic, records[2:])
        with pytest.raises(RegistryUnreachable, match="no schema registry answers") as failure:
            settle_next(driver)
        assert failure.value.exit_code == 75
        assert (ratings.position(), ratings.quarantined()) == (driver.run.targets[0].position, [])
        with pytest.raises(RegistryUnreachable):
            ratings.run("stream")
        own.start()
        settle_next(driver)
        assert ratings.rows() == Model(sent).rows
        assert ratings.quarantined() == []
    finally:
        own.stop()


def test_25_a_schema_of_another_subject_is_turned_away_and_replayed_once_it_belongs(
    spark: SparkSession, ratings: Ratings, registry: Registry
) -> None:
    first, second = new_ratings(2)
    number, text = new_schema(ratings, registry.url, subject=f"{ratings.topic}-other")
    value = rating_of(second, text, number, ratings)
    ratings.produce([first])
    ratings.broker.produce(ratings.topic, [(second.key.encode(), value)])
    ratings.run()
    words = f"schema {number} is no version of subject {ratings.subject}"
    assert ratings.quarantined() == [("WRONG_SUBJECT", words, value)]
    assert ratings.rows() == Model([first]).rows
    assert new_schema(ratings, registry.url) == (number, text)
    place = QuarantineTarget(ratings.pipeline, ratings.table)
    replay(spark, place, Selection(state=WAITING), overwrite=False, execute=True)
    assert ratings.rows() == Model([first, second]).rows


def test_25_broken_bytes_are_kept_whole_and_stay_bad_in_a_replay(
    spark: SparkSession, ratings: Ratings, capsys: pytest.CaptureFixture[str]
) -> None:
    (event,) = new_ratings(1)
    value = ratings.serialize[event.version](event.fields())
    broken = [b"", b"\x00\x00", b"{" + value[1:], value[:-1], value + b"!", framed(2**31 - 1, value[5:])]
    ratings.broker.produce(ratings.topic, [(b"k", each) for each in broken], partition=0)
    ratings.run()
    reasons = ["NO_HEADER", "NO_HEADER", "BAD_MAGIC", "NOT_AVRO", "TRAILING_BYTES", "UNKNOWN_SCHEMA"]
    assert [(reason, kept) for reason, _, kept in ratings.quarantined()] == list(zip(reasons, broken, strict=True))
    replay(
        spark,
        QuarantineTarget(ratings.pipeline, ratings.table),
        Selection(state=WAITING),
        overwrite=False,
        execute=True,
    )
    assert "2 still bad: NO_HEADER" in capsys.readouterr().out
    assert ratings.rows() == {}


def other_day(event: Event) -> Event:
    """The same event with another rating_timestamp: what the producer never does."""
    moved = replace(event.rating, rating_timestamp=event.rating.rating_timestamp - DAY, rating=0.0)
    return replace(event, rating=moved, version=5)


def test_a_rating_timestamp_that_changes_is_reported_by_the_check(ratings: Ratings) -> None:
    (event,) = new_ratings(1)
    ratings.produce([event])
    ratings.run()
    ratings.produce([other_day(event)])
    ratings.check_pruning = True
    with pytest.raises(StateError, match=f"key event_id={event.key} has a row outside of its batch's bounds"):
        ratings.run()
    assert ratings.rows() == Model([event]).rows
    ratings.check_pruning = False
    ratings.run()
    with pytest.raises(AssertionError, match="an event stands twice"):
        ratings.rows()


def test_a_pipeline_without_the_declaration_merges_unpruned_and_rightly(ratings: Ratings) -> None:
    target = ratings.pipeline.target.model_copy(update={"prune_by": [], "immutable": []})
    ratings.pipeline = ratings.pipeline.model_copy(update={"target": target})
    (event,) = new_ratings(1)
    ratings.produce([event])
    ratings.run()
    ratings.produce([other_day(event)])
    ratings.run()
    assert ratings.rows() == Model([event, other_day(event)]).rows


def test_what_the_subject_does_not_have_is_an_error_at_the_start(ratings: Ratings) -> None:
    registry = ratings.pipeline.source.registry
    assert registry is not None

    def begin(**changes: Any) -> None:
        source = ratings.pipeline.source.model_copy(update={"registry": registry.model_copy(update=changes)})
        ratings.pipeline = ratings.pipeline.model_copy(update={"source": source})
        ratings.driver()

    with pytest.raises(ConfigurationError, match="has no subject 'nobody-value'"):
        begin(subject="nobody-value")
    with pytest.raises(ConfigurationError, match="has no version 99 of subject"):
        begin(version=99)
    with pytest.raises(ConfigurationError, match=r"source\.columns\.movie_id: version 4 of subject .* no such field"):
        begin(version=4)
    with pytest.raises(ConfigurationError, match="is no answer of a schema registry"):
        begin(url=registry.url.replace("/apis/ccompat/v7", "/nothing"))
    begin(version=5)
    assert schema(5) != schema(4)
