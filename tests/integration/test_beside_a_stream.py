"""Maintenance beside a running stream: two processes on one table, neither stops the other, nothing is lost."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.log import Commits
from common.delta.open_ledger import open_ledger
from common.operations.compaction import Scope
from common.operations.create_table import create_or_compare
from common.operations.maintenance import compact_tables, vacuum_tables
from common.settings.load import read_pipeline
from common.settings.locations import Location, location
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment
from tests.support.partitions import numbered
from tests.support.trial import event
from tests.support.waiting import await_true

PIPELINE = """
[source]
topic = "any"
columns = { id = "bigint", part = "string", degrees = "double" }
[target]
keys = ["id", "part"]
partition_by = ["part"]
prune_by = ["id"]
"""
PARTS = ("a", "b")
ANY = Scope(128 * 1024 * 1024)
BOUND = 12
WANTED = 20
PATIENCE_SECONDS = 600


@pytest.mark.long
@pytest.mark.timeout(900)
def test_30_31_compaction_and_vacuum_in_a_loop_beside_a_stream(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New keys, which become files of their own, and changes of old ones, which are merged; OPTIMIZE and a VACUUM that
    keeps nothing take turns with them until the history has enough of both."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "mine.toml").write_text(PIPELINE)
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path / "pipelines"))
    table = location(str(tmp_path / "table"))
    create_or_compare(spark, read_pipeline("mine"), table, dry_run=False)
    sent: dict[tuple[int, str], float] = {}
    most = turn = 0
    with running_stream(table, broker, topic, tmp_path) as stream:
        until = time.monotonic() + PATIENCE_SECONDS
        while not has_enough(spark, table) and time.monotonic() < until:
            produce(broker, topic, sent, changing=turn % 3 == 2)
            compact_tables(spark, table, ANY, execute=True)
            if (turn := turn + 1) % 4 == 0:
                vacuum_tables(spark, table, 0, frozenset({table.name}), execute=True)
                vacuum_tables(spark, table, None, frozenset(), execute=True)
            most = max(most, files_per_partition(spark, table))
            assert stream.poll() is None, (tmp_path / "stream.log").read_text()
        await_settled(spark, table, broker, topic, stream)
        assert stream.poll() is None, (tmp_path / "stream.log").read_text()
    assert has_enough(spark, table)
    assert turns(spark, table) >= WANTED, "they did not interleave"
    assert most <= BOUND
    rows = spark.read.format("delta").load(table.uri).collect()
    assert {(row["id"], row["part"]): row["degrees"] for row in rows} == sent
    assert len(rows) == len(sent)


@contextmanager
def running_stream(table: Location, broker: Broker, topic: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real job, in a process of its own."""
    command = [f"{ROOT}/submit/streaming_merge.sh", "--mode", "stream", "--trigger", "500 milliseconds"]
    command += ["--pipeline", "mine", str(table), broker.address, topic]
    said = {
        "ALLUVIUM_PIPELINES": str(folder / "pipelines"),
        "ALLUVIUM_LOG_DIR": str(folder / "log"),
        "ALLUVIUM_REPORT_DIR": str(folder / "reports"),
    }
    with (folder / "stream.log").open("wb") as output:
        stream = subprocess.Popen(
            command, env=clean_environment(**said), stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield stream
    finally:
        os.killpg(stream.pid, signal.SIGKILL)
        stream.wait()


def produce(broker: Broker, topic: str, sent: dict[tuple[int, str], float], *, changing: bool) -> None:
    """In each partition of the table some new keys; now and then also a change of every seventh old one, which makes a
    batch rewrite all the files of its partition."""
    turn = float(len(sent))
    fresh = [(len(sent) // len(PARTS) + number, part) for number in range(5) for part in PARTS]
    changed = dict.fromkeys([*(list(sent)[::7] if changing else []), *fresh], turn)
    sent.update(changed)
    broker.produce(topic, [event(identity, part, degrees) for (identity, part), degrees in changed.items()])


def operations(spark: SparkSession, table: Location) -> list[str]:
    """Oldest first: `engine` for what the stream committed."""
    engine = {"MERGE": "engine", "WRITE": "engine"}
    found = DeltaTable.forPath(spark, table.uri).history().orderBy("version").select("operation").collect()
    return [engine.get(row["operation"], row["operation"]) for row in found[1:]]


def has_enough(spark: SparkSession, table: Location) -> bool:
    counts = Counter(operations(spark, table))
    return min(counts["engine"], counts["OPTIMIZE"]) >= WANTED and counts["VACUUM END"] > 0


def turns(spark: SparkSession, table: Location) -> int:
    """How often the one followed the other."""
    both = [name for name in operations(spark, table) if name in {"engine", "OPTIMIZE"}]
    return len(list(groupby(both)))


def files_per_partition(spark: SparkSession, table: Location) -> int:
    groups = Commits(spark, table.uri).data_files().groupBy("partitionValues.part").count().collect()
    return max((row["count"] for row in groups), default=0)


def await_settled(
    spark: SparkSession, table: Location, broker: Broker, topic: str, stream: subprocess.Popen[bytes]
) -> None:
    """Everything that was sent is in the table, by the table's own word."""
    wanted = {partition: len(broker.offsets_of(topic, partition)) for partition in range(3)}

    def is_settled() -> bool:
        assert stream.poll() is None
        return numbered(open_ledger(spark, table.uri, "mine").position().offsets) == wanted

    await_true(is_settled, "what was sent", seconds=120, pause=0.5)
