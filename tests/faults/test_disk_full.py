"""A file system that fills up under a running job: a real one, small, in a mount namespace of the test's own."""

import json
import secrets
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from common.operations.base_load import load_base
from common.settings.load import read_pipeline
from common.settings.locations import location
from tests.support.broker import Broker
from tests.support.commands import JVM_NOISE, ROOT, clean_environment, run
from tests.support.frames import frame

HOUR = {"latitude": 51.5, "longitude": -0.5, "time": "2022-12-31T23:00", "temperature_2m": 1.5}
# The table lies on a tmpfs of 1 MB, where its side table finds room and the MERGE does not; then the tmpfs grows. What
# it holds is copied out at both times: nobody outside of the namespace sees it.
SCRIPT = """
mount -t tmpfs -o size=1m tmpfs {small} && cp -r {table} {small}/table || exit 9
{job} --mode stream {small}/table {topic} > {out}/first.out 2> {out}/first.err
echo $? > {out}/first.code
cp -r {small} {out}/full
mount -o remount,size=64m {small}
{job} --mode batch --once {small}/table {topic} > {out}/second.out 2> {out}/second.err
echo $? > {out}/second.code
cp -r {small} {out}/after
"""


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    rows = frame(spark, [tuple(HOUR.values())], "latitude double, longitude double, time string, temperature_2m double")
    rows.write.parquet(str(tmp_path / "base"))
    target = location(f"{tmp_path}/table")
    load_base(spark, read_pipeline("temperatures"), location(f"{tmp_path}/base"), target, overwrite=False)
    return tmp_path / "table"


def heavy(number: int) -> tuple[bytes, bytes]:
    """An event that compression cannot help with."""
    content = HOUR | {"time": f"2023-01-{number:02}T{secrets.token_hex(20_000)}"}
    return str(number).encode(), json.dumps(content).encode()


def rows_of(table: Path) -> int:
    return DeltaTable(table).to_pyarrow_table().num_rows


@pytest.mark.long
def test_35_a_full_file_system_stops_the_job_and_it_goes_on_when_there_is_space(
    table: Path, broker: Broker, topic: str, tmp_path: Path
) -> None:
    broker.produce(topic, [heavy(number) for number in range(1, 61)] + [(b"x", b"not json")], partition=0)
    small, out = tmp_path / "small", tmp_path / "out"
    small.mkdir()
    out.mkdir()
    script = SCRIPT.format(
        small=small, table=table, out=out, topic=f"{broker.address} {topic}", job=f"{ROOT}/submit/streaming_merge.sh"
    )
    environment = clean_environment(ALLUVIUM_LOG_DIR=str(out / "log"), ALLUVIUM_REPORT_DIR=str(small / "reports"))
    done = run(["unshare", "--map-root-user", "--mount", "sh", "-c", script], environment=environment)
    assert done.returncode == 0, done.stderr

    assert (out / "first.code").read_text() == "1\n"
    *_, line = [line for line in (out / "first.err").read_text().splitlines() if line != JVM_NOISE]
    assert line.startswith(f"error: no space left while writing {small}/table (")
    assert "start again" in line
    assert rows_of(out / "full" / "table") == 1
    side = out / "full" / "table_quarantine"
    assert not side.exists() or rows_of(side) in {0, 1}

    assert (out / "second.code").read_text() == "0\n", (out / "second.err").read_text()
    assert rows_of(out / "after" / "table") == 61
    assert rows_of(out / "after" / "table_quarantine") == 1
