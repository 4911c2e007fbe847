"""Which process is which: by its number and its start, as every command of ours sees it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from kafka_docker.embedded import process_table
from tests.support.waiting import await_true

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
PARENT = ["/bin/sh", "-c", "sh -c 'sleep 20 & wait' & wait"]
# The first thread ends; the other one holds the process.
WITHOUT_FIRST_THREAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""
HEADLESS = [sys.executable, "-c", WITHOUT_FIRST_THREAD]
ASKING = """
import sys
from kafka_docker.embedded import process_table
print(process_table.identity(process_table.living(int(sys.argv[1]))))
"""
linux = pytest.mark.skipif(not psutil.LINUX, reason="what /proc alone knows")


@contextmanager
def started(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of ours, whose end no failed test waits for."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with started(SLEEPER) as process:
        yield process


def found(pid: int) -> psutil.Process:
    process = process_table.living(pid)
    assert process is not None
    return process


def test_an_identity_is_the_same_in_every_command(sleeper: "subprocess.Popen[bytes]") -> None:
    told = subprocess.run([sys.executable, "-c", ASKING, str(sleeper.pid)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == process_table.identity(found(sleeper.pid))
    assert told.stdout.strip() != process_table.identity(found(os.getpid()))


@linux
def test_setting_the_clock_makes_no_stranger_of_a_process(
    sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    before, created = process_table.identity(found(sleeper.pid)), found(sleeper.pid).create_time()
    boot = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: boot + 3600)
    assert found(sleeper.pid).create_time() == created + 3600
    assert process_table.identity(found(sleeper.pid)) == before


def test_a_process_that_nobody_has_asked_for_has_ended(sleeper: "subprocess.Popen[bytes]") -> None:
    process = found(sleeper.pid)
    process.kill()
    await_true(lambda: not process_table.lives(process), "its end", seconds=20)
    assert process.status() == psutil.STATUS_ZOMBIE
    assert process_table.living(sleeper.pid) is None


@linux
def test_a_process_without_its_first_thread_still_lives() -> None:
    with started(HEADLESS) as headless:
        process = psutil.Process(headless.pid)
        await_true(lambda: process.status() == psutil.STATUS_ZOMBIE, "the end of its first thread", seconds=20)
        assert process_table.lives(process)
    assert not process_table.lives(process)


def test_a_family_is_the_process_with_all_below_it() -> None:
    with started(PARENT) as parent:
        process = found(parent.pid)
        await_true(lambda: len(process_table.family(process)) == 3, "its children", seconds=20)
        family = process_table.family(process)
        assert [each.ppid() for each in family[1:]] == [parent.pid, family[1].pid]
    assert process_table.family(process) == [process]
    for each in family[1:]:
        each.kill()
