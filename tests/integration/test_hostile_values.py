"""Values that nobody expects as keys, partitions and columns to prune by: one row a key in each way to commit."""

import json
import os
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from structlog.testing import capture_logs

from common.delta import candidate_files
from common.delta.candidate_files import as_kernel_sees, data_file_of
from common.delta.open_ledger import open_ledger
from common.delta.quarantine import Quarantine
from common.errors import StateError, UsageError
from common.merge.strategies import choose_strategy
from common.model.limits import Limits
from common.operations import compaction
from common.operations.base_load import load_base
from common.present.quarantine import print_records
from common.rules.pruning import Range
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from common.spark.session import settings
from tests.support.frames import frame
from tests.support.merges import DRIVER, SPARK, committed, merged_by, only, request_of
from tests.support.merges import MERGE as DELTA_MERGE
from tests.support.shares import first_each_time
from tests.support.trial import Trial, event, pipeline, tombstone

EPOCH = date(1970, 1, 1)
# Days that the calendar of java.sql.Date lacks, and the ends of what is promised.
DAYS = [date(1, 1, 1), *(date(1582, 10, day) for day in (5, 10, 14)), date(9999, 12, 31)]
NOONS = [datetime(day.year, day.month, day.day, 12, 0, 0, 123456, tzinfo=UTC) for day in DAYS]
SCHEMA = "id bigint, part string, degrees double"
SUBSTITUTE = "spark.sql.variable.substitute"


@pytest.fixture(params=[DRIVER, SPARK, DELTA_MERGE])
def way(request: pytest.FixtureRequest) -> str:
    """The strategy that merges; no other may."""
    return str(request.param)


def keyed(kind: str, **target: Any) -> Pipeline:
    declared = {"keys": ["k"], "partition_by": [], "prune_by": ["k"]} | target
    return pipeline("t", source={"columns": {"k": kind, "n": "bigint"}}, target=declared)


def rows_of(spark: SparkSession, kind: pa.DataType, values: list[Any], number: int) -> DataFrame:
    """By Arrow: on their way through py4j, early dates would change their calendar."""
    columns = {"k": pa.array(values, kind), "n": pa.array([number] * len(values), pa.int64())}
    return spark.createDataFrame(pa.table(columns)).localCheckpoint()


def one_file_each(spark: SparkSession, path: Path, kind: pa.DataType, values: list[Any], by: list[str]) -> None:
    rows = rows_of(spark, kind, values, 1).coalesce(1)
    rows.write.format("delta").mode("append").option("maxRecordsPerFile", 1).partitionBy(*by).save(str(path))


def merged(spark: SparkSession, path: Path, declared: Pipeline, changes: DataFrame, way: str) -> list[Any]:
    """The numbers of the table after a batch that has a candidate for each of its keys."""
    merged_by(way, request_of(changes, path, declared))
    return sorted(row["n"] for row in spark.read.format("delta").load(str(path)).select("n").collect())


@pytest.mark.parametrize("form", first_each_time(["date", "partition", "timestamp"]))
def test_42_early_and_late_days_are_found_in_every_way(
    spark: SparkSession, tmp_path: Path, way: str, form: str
) -> None:
    """Each alone in its file, so that nothing but its own value leads to it."""
    kind, values = (pa.timestamp("us", tz="UTC"), NOONS) if form == "timestamp" else (pa.date32(), DAYS)
    by = ["k"] if form == "partition" else []
    one_file_each(spark, tmp_path, kind, values, by)
    declared = keyed("timestamp" if form == "timestamp" else "date", partition_by=by)
    assert merged(spark, tmp_path, declared, rows_of(spark, kind, values, 2), way) == [2] * len(values)


def test_early_and_late_days_are_counted_where_a_newer_row_keeps_them_out(spark: SparkSession, tmp_path: Path) -> None:
    """Beside the MERGE a query with the same bounds counts them, by filters of Parquet."""
    one_file_each(spark, tmp_path, pa.date32(), DAYS, [])
    changes, declared = rows_of(spark, pa.date32(), DAYS, 0), keyed("date", sequence="n")
    forecast = choose_strategy(request_of(changes, tmp_path, declared), only(DELTA_MERGE)).prepared.forecast
    assert (forecast.candidates, forecast.superseded) == (len(DAYS), len(DAYS))


def test_a_widened_span_holds_every_file_that_the_span_itself_holds() -> None:
    """Against the least and the greatest date of a file as Kernel reads them."""
    days = range((date(1582, 9, 25) - EPOCH).days, (date(1582, 11, 5) - EPOCH).days)
    lacking = range((date(1582, 10, 5) - EPOCH).days, (date(1582, 10, 15) - EPOCH).days)

    def read_by_kernel(day: int) -> int:
        return day + len(lacking) if day in lacking else day

    for first in days:
        for last in range(first, days[-1] + 1):
            seen = as_kernel_sees(Range(first, last), "date")
            for least in range(days[0], last + 1):
                # The least that can be: the greatest date of a file that begins at `least` and reaches the span.
                greatest = max(least, first)
                assert int(seen.first) <= read_by_kernel(greatest), (first, last, least)
                assert read_by_kernel(least) <= int(seen.last), (first, last, least)


@pytest.mark.parametrize("substitute", ["true", "false"])
def test_40_a_key_that_names_a_variable_stays_what_it_is(
    spark: SparkSession, tmp_path: Path, way: str, substitute: str
) -> None:
    """Whatever the session says: by the MERGE's condition, the value of PATH would stand in the table's log."""
    keys = ["user-${env:PATH}", "${system:user.dir}", "${spark.app.id}", "it's \\u0024{env:PATH} \\"]
    one_file_each(spark, tmp_path, pa.string(), keys, [])
    with settings(spark, {SUBSTITUTE: substitute}):
        numbers = merged(spark, tmp_path, keyed("string"), rows_of(spark, pa.string(), keys, 2), way)
    assert numbers == [2] * len(keys)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if os.environ["PATH"].encode() in path.read_bytes()]


def test_jobs_substitute_nothing(spark: SparkSession) -> None:
    assert spark.sql("SELECT '${env:PATH}' AS text").collect() == [("${env:PATH}",)]


@pytest.mark.parametrize("substitute", ["true", "false"])
def test_a_partition_that_names_a_variable_is_compacted(spark: SparkSession, tmp_path: Path, substitute: str) -> None:
    """OPTIMIZE takes nothing but an SQL text."""
    value = "${env:PATH} it's \\"
    for _ in range(2):
        one_file_each(spark, tmp_path, pa.string(), [value], ["k"])
    table = location(str(tmp_path))
    with settings(spark, {SUBSTITUTE: substitute}):
        (chunk,) = compaction.plan_compaction(spark, table, compaction.Scope(2**20)).chunks
        metrics = compaction.optimized(spark, table, chunk)
    assert metrics is not None
    assert (metrics["numFilesRemoved"], metrics["numFilesAdded"]) == (2, 1)


def loaded(trial: Trial, declared: Pipeline, rows: DataFrame, folder: Path) -> Trial:
    """The trial with another pipeline, and a table of its own that holds these rows."""
    rows.write.parquet(f"{folder}/other_base")
    trial.pipeline, trial.table = declared, location(f"{folder}/other_table")
    load_base(trial.spark, declared, location(f"{folder}/other_base"), trial.table, overwrite=False)
    return trial


def reasons(trial: Trial) -> list[str]:
    return [row[2] for row in trial.quarantined()]


def test_41_an_empty_text_is_no_key_where_it_partitions_the_table(trial: Trial) -> None:
    """Delta would store it as null: each event would add a row, and a delete would find none."""
    trial.pipeline = pipeline(trial.topic, source={"null_value": "delete"})
    for degrees in (3.0, 4.0):
        trial.broker.produce(trial.topic, [event(3, "", degrees), event(4, " ", degrees)], partition=0)
        trial.run("batch")
    trial.broker.produce(trial.topic, [tombstone(3, ""), tombstone(1, "a")], partition=0)
    trial.run("batch")
    assert trial.rows() == {(2, "a", 2.0), (4, " ", 4.0)}
    assert reasons(trial) == ["EMPTY_KEY", "EMPTY_KEY", "BAD_KEY"]


def test_41_an_empty_text_is_a_key_where_it_partitions_nothing(trial: Trial, tmp_path: Path) -> None:
    declared = pipeline(trial.topic, target={"partition_by": []})
    loaded(trial, declared, frame(trial.spark, [(1, "", 1.0)], SCHEMA), tmp_path)
    trial.broker.produce(trial.topic, [event(1, "", 2.0)], partition=0)
    trial.run("batch")
    assert (trial.rows(), reasons(trial)) == ({(1, "", 2.0)}, [])


def derived(topic: str, **target: Any) -> Pipeline:
    """What becomes of the seconds of an event, and of bytes that it writes as digits."""
    expressions = {
        "day": "CAST(CAST(seconds AS TIMESTAMP) AS DATE)",
        "at": "CAST(seconds AS TIMESTAMP)",
        "code": "CAST(unhex(digits) AS STRING)",
    }
    columns = {"id": "bigint", "seconds": "bigint", "digits": "string"}
    declared = {"keys": ["id"], "derived": expressions, "immutable": list(expressions), "partition_by": []} | target
    return pipeline(topic, source={"columns": columns}, target=declared)


def counted(identity: int, seconds: int, digits: str) -> tuple[bytes, bytes]:
    return str(identity).encode(), json.dumps({"id": identity, "seconds": seconds, "digits": digits}).encode()


PRUNED, PARTED = {"prune_by": ["day", "at", "code"]}, {"partition_by": ["day"], "prune_by": ["day"]}


@pytest.mark.parametrize(
    ("target", "reader"),
    first_each_time([(PRUNED, "fetched"), (PARTED, "by spark"), (PRUNED, "by spark"), (PARTED, "fetched")], 2),
    indirect=["reader"],
)
def test_a_derived_value_that_nobody_could_read_is_turned_away(
    trial: Trial, tmp_path: Path, target: dict[str, Any], reader: None
) -> None:
    """Milliseconds taken for seconds are a year of five digits: merged once, they would fail every batch after it."""
    base = frame(trial.spark, [(1, 0, "61")], "id bigint, seconds bigint, digits string")
    loaded(trial, derived(trial.topic, **target), base, tmp_path)
    hostile = [counted(2, 1_700_000_000_000, "62"), counted(3, -(10**12), "63"), counted(4, 86_400, "ff")]
    trial.broker.produce(trial.topic, [*hostile, counted(5, 86_400, "65")], partition=0)
    trial.run("batch")
    trial.broker.produce(trial.topic, [counted(5, 86_400, "65"), counted(1, 0, "61")], partition=0)
    assert trial.run("batch").seq == 2
    found = trial.spark.read.format("delta").load(trial.table.uri).select("id", "day", "code").collect()
    assert {tuple(row) for row in found} == {(1, date(1970, 1, 1), "a"), (5, date(1970, 1, 2), "e")}
    assert reasons(trial) == ["WRONG_TYPE", "WRONG_TYPE", "NOT_UTF8"]
    said = trial.spark.read.format("delta").load(f"{trial.table.uri}_quarantine").orderBy("offset").select("message")
    assert [row["message"].partition(" is wanted")[0] for row in said.collect()] == [
        "day: date of the years 0001 to 9999",
        "day: date of the years 0001 to 9999",
        "code: the text is not UTF-8",
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((2, 1_700_000_000_000, "62"), "day: date of the years 0001 to 9999 is wanted, not +55840-11-08"),
        ((4, 86_400, "ff"), "code: the text is not UTF-8"),
    ],
)
def test_a_base_load_with_a_value_that_nobody_could_read_is_refused(
    spark: SparkSession, tmp_path: Path, row: tuple[int, int, str], said: str
) -> None:
    frame(spark, [(1, 0, "61"), row], "id bigint, seconds bigint, digits string").write.parquet(f"{tmp_path}/in")
    with pytest.raises(UsageError, match=re.escape(said)):
        load_base(spark, derived("t"), location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("by", [[], ["k"]], ids=["statistics", "partition"])
def test_a_table_with_a_value_that_kernel_cannot_read_is_merged_by_delta(
    spark: SparkSession, tmp_path: Path, by: list[str]
) -> None:
    """Somebody else has written it, or an earlier version of this engine."""
    far = spark.sql("SELECT CAST(CAST(1700000000000 AS TIMESTAMP) AS DATE) AS k, 1L AS n")
    far.write.format("delta").partitionBy(*by).save(str(tmp_path))
    one_file_each(spark, tmp_path, pa.date32(), DAYS, by)
    with capture_logs() as logs:
        changes = rows_of(spark, pa.date32(), DAYS, 2)
        request = request_of(changes, tmp_path, keyed("date", partition_by=by))
        chosen = choose_strategy(request)
        committed(request, chosen.prepared)
    assert chosen.strategy == DELTA_MERGE
    numbers = spark.read.format("delta").load(str(tmp_path)).select("n").collect()
    assert sorted(row["n"] for row in numbers) == [1, *[2] * len(DAYS)]
    assert [line["event"] for line in logs] == ["Delta Kernel cannot tell the candidate files of this table"]


def test_candidates_are_counted_up_to_the_limit_only(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind it Delta's MERGE is chosen, which looks for them by itself."""
    keys = [f"key {number}" for number in range(5)]
    one_file_each(spark, tmp_path, pa.string(), keys, [])
    told = []
    monkeypatch.setattr(candidate_files, "data_file_of", lambda add: told.append(add["path"]) or data_file_of(add))
    changes = rows_of(spark, pa.string(), keys, 2)
    chosen = choose_strategy(request_of(changes, tmp_path, keyed("string"), limits=Limits(candidate_files=3)))
    assert chosen.strategy == DELTA_MERGE
    assert "there are at least 4 candidate files" in chosen.declined[DRIVER]
    assert len(told) == 4


# A broker refuses such times by default.
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
# Further than Spark can tell, as nanoseconds taken for milliseconds are, and a year of five digits.
FAR, FURTHER = 10**15, 10**16


def with_far_times(trial: Trial) -> Trial:
    """On a topic that holds six records of partition 0, three of them from a far future."""
    trial.topic = trial.broker.create_topic(config=ANY_TIME)
    trial.pipeline = pipeline(trial.topic)
    for identity, milliseconds in ((3, 0), (4, FURTHER), (5, FAR), (6, 0), (7, 2**62), (8, 0)):
        events = [event(identity, "b", 0.5, at="2023-01-10T12:00")]
        trial.broker.produce(trial.topic, events, partition=0, milliseconds=milliseconds)
    return trial


@pytest.mark.parametrize("mode", first_each_time(["batch", "stream"]))
def test_a_record_of_a_far_future_is_merged_like_any_other(trial: Trial, mode: str, reader: None) -> None:
    """Where nothing is compared with its time, it does not matter."""
    with_far_times(trial)
    assert trial.run(mode).offsets[trial.partition(0)] == 6
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), *((identity, "b", 0.5) for identity in range(3, 9))}


def test_a_record_of_a_far_future_is_neither_late_nor_not(
    trial: Trial, tmp_path: Path, reader: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its time is needed, and no time: it is turned away, and who looks at it can read what is kept of it."""
    with_far_times(trial)
    columns = {"id": "bigint", "part": "string", "degrees": "double", "at": "timestamp"}
    late = {"column": "at", "bound": "36500d", "future_bound": "1d"}
    declared = pipeline(trial.topic, source={"columns": columns}, late=late)
    base = trial.spark.sql("SELECT 1L AS id, 'a' AS part, 1D AS degrees, TIMESTAMP '2023-01-01' AS at")
    loaded(trial, declared, base, tmp_path)
    assert trial.run("batch").offsets[trial.partition(0)] == 6
    assert trial.rows() == {(1, "a", 1.0), *((identity, "b", 0.5) for identity in (3, 6, 8))}
    assert reasons(trial) == ["BAD_TIMESTAMP"] * 3
    quarantine = Quarantine(trial.spark, trial.table, open_ledger(trial.spark, trial.table.uri, "trial"))
    print_records(quarantine.rows(), 3, 3, full=True)
    said = capsys.readouterr().out
    assert "the record's own timestamp is 1000000000000000 ms, outside of the years 0001 to 9999" in said
    assert said.count("the record's own timestamp is 9223372036854775 ms or further, outside of the years") == 2


def test_too_many_records_of_a_far_future_are_named_with_a_remedy_that_works(
    trial: Trial,
) -> None:
    trial.limits = Limits(fetched_records=0, overflow_ranges=2)
    with_far_times(trial)
    with pytest.raises(
        StateError, match=r"partition 0 of '.*', offset 1: .* timestamp 10000000000000000 ms"
    ) as refused:
        trial.run("batch")
    assert trial.position().seq == 0
    (most,) = re.findall(r"set source\.max_records_per_batch to (\d+) ", str(refused.value))
    trial.pipeline = pipeline(trial.topic, max_records=int(most))
    assert trial.run("batch").offsets[trial.partition(0)] == 6
    assert len(trial.rows()) == 8
