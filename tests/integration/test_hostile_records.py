"""Records that would harm a pipeline by their size or their time: turned away with a reason, and the run goes on."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.trial import Trial, event, pipeline

MEGABYTE = 1_000_000
BASE = {(1, "a", 1.0), (2, "a", 2.0)}


@pytest.mark.parametrize("mode", ["batch", pytest.param("stream", marks=pytest.mark.long)])
def test_29_a_value_of_10_mb_is_quarantined_whole_and_the_run_goes_on(trial: Trial, mode: str) -> None:
    large = b'{"id": 9, "part": "b", "degrees": 9.0, "filler": "' + b"x" * (10 * MEGABYTE) + b'"}'
    trial.topic = trial.broker.create_topic(config={"max.message.bytes": str(12 * MEGABYTE)})
    trial.pipeline = pipeline(trial.topic)
    records = [event(3, "b", 3.0), (b"large", large), event(4, "b", 4.0)]
    trial.broker.produce(trial.topic, records, partition=0, config={"message.max.bytes": 12 * MEGABYTE})
    assert trial.run(mode).offsets[trial.partition(0)] == 3
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0)}
    ((*place, value),) = trial.quarantined()
    assert place == [1, 1, "OVERSIZED", trial.topic, 0, 1, b"large"]
    assert hashlib.sha256(value).digest() == hashlib.sha256(large).digest()
    (message,) = trial.spark.read.format("delta").load(f"{trial.table.uri}_quarantine").select("message").collect()
    assert message[0] == f"{len(large)} bytes, 1048576 allowed"


def test_38_a_time_in_the_future_is_quarantined_by_the_stated_bound(trial: Trial) -> None:
    """And what comes after it is judged as before: nothing has moved a watermark."""
    now = datetime.now(UTC).replace(microsecond=0)
    future, soon, past = (
        f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in (now + timedelta(days=3653), now, now - timedelta(9))
    )
    trial.pipeline = pipeline(trial.topic, late={"column": "part", "bound": "10d", "future_bound": "1d"})
    poison = event(3, future, 3.0)
    trial.broker.produce(trial.topic, [poison, event(4, soon, 4.0)], partition=0)
    trial.run("batch")
    trial.broker.produce(trial.topic, [event(5, past, 5.0)], partition=0)
    trial.run("stream")
    assert trial.rows() == BASE | {(4, soon, 4.0), (5, past, 5.0)}
    assert trial.quarantined() == [(1, 1, "FUTURE", trial.topic, 0, 0, *poison)]
    (message,) = trial.spark.read.format("delta").load(f"{trial.table.uri}_quarantine").select("message").collect()
    assert message[0] == "part is more than 1d ahead of its record"
