"""The JVM's half of the commit lock. To the JVM, this process is another one: that of a job that was killed, say."""

import fcntl
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from common.delta.lock import commit_lock, reference_to, take_in_jvm
from common.errors import Locked
from common.settings.locations import Location, location
from common.spark.jvm import java, running_jvm


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Location:
    assert running_jvm() is not None
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020d}.json").touch()
    return location(str(tmp_path))


@contextmanager
def held_here(path: Path) -> Iterator[None]:
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def lock_file(table: Location) -> Path:
    assert table.local is not None
    return table.local / "_alluvium" / "jvm.lock"


def test_the_jvm_holds_the_commit_lock_too(table: Location) -> None:
    for _ in range(2):
        with commit_lock(table), pytest.raises(BlockingIOError), held_here(lock_file(table)):
            pytest.fail("two owners")
    with held_here(lock_file(table)):
        pass


def test_it_is_released_when_what_is_done_under_it_fails(table: Location) -> None:
    with pytest.raises(ZeroDivisionError), commit_lock(table):
        print(1 / 0)
    with held_here(lock_file(table)):
        pass


def test_the_jvm_of_a_job_that_was_killed_is_waited_for_with_a_bound(table: Location) -> None:
    """Its Python half is gone, and with it the lock that others look at first."""
    with held_here(lock_file(table)), pytest.raises(Locked, match="in use by the JVM of a job that was killed; wait"):  # noqa: SIM117
        with commit_lock(table, wait_seconds=0.3):
            pytest.fail("two owners")
    with commit_lock(table, wait_seconds=0):
        pass


def test_47_the_jvm_keeps_the_lock_when_python_is_gone(spark: SparkSession, table: Location) -> None:
    """Py4J lets go of what it holds for Python, and Java closes what nobody refers to."""
    lock_file(table).parent.mkdir()
    file = java(spark, "java.io.RandomAccessFile")(str(lock_file(table)), "rw")
    reference_to(file, running_jvm())
    take_in_jvm(file, table, until=time.monotonic())
    del file
    for _ in range(3):
        gc.collect()
        java(spark, "java.lang.System").gc()
    with pytest.raises(BlockingIOError), held_here(lock_file(table)):
        pytest.fail("two owners")


def test_a_load_that_fails_leaves_no_lock_behind(spark: SparkSession, tmp_path: Path) -> None:
    assert running_jvm() is not None
    with pytest.raises(ZeroDivisionError), commit_lock(location(str(tmp_path / "new"))):
        print(1 / 0)
    assert not (tmp_path / "new").exists()
