"""Scratch folders of jobs: a dead one's is removed by the next start, and nothing else."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.commands import ROOT

LONG_AGO = time.time() - 3600


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def left_by(job: str, scratch: Path, *, at: float = LONG_AGO) -> Path:
    """What a job has, and leaves when it is killed."""
    (scratch / job / "blockmgr-7").mkdir(parents=True)
    (scratch / job / "lock").touch()
    os.utime(scratch / job / "lock", (at, at))
    return scratch / job


def start(scratch: Path, job: str) -> int:
    """As submit.sh does; gives the descriptor that a job would keep for its life."""
    (scratch / job).mkdir()
    descriptor = os.open(scratch / job / "lock", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    command = [sys.executable, "submit/scratch.py", str(scratch / job), str(descriptor)]
    subprocess.run(command, cwd=ROOT, check=True, pass_fds=[descriptor])
    return descriptor


def test_only_what_a_dead_job_left_is_removed(scratch: Path) -> None:
    left_by("dead", scratch)
    left_by("starting", scratch, at=time.time())
    (scratch / "of somebody else" / "data").mkdir(parents=True)
    (scratch / "a file").touch()
    living = start(scratch, "living")
    os.utime(scratch / "living" / "lock", (LONG_AGO, LONG_AGO))
    next_one = start(scratch, "next")
    assert {path.name for path in scratch.iterdir()} == {"starting", "of somebody else", "a file", "living", "next"}
    os.close(living)
    os.close(next_one)
    os.close(start(scratch, "last"))
    assert not (scratch / "living").exists()


def test_the_lock_outlives_the_script_that_took_it(scratch: Path) -> None:
    descriptor = start(scratch, "job")
    with (scratch / "job" / "lock").open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
