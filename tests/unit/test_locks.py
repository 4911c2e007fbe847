"""The two locks, between real processes."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common.delta.lock import commit_lock, job_lock
from common.errors import Locked
from common.settings.locations import location

HOLD = """\
import sys
from common.delta import lock
from common.settings.locations import location
with getattr(lock, sys.argv[1])(location(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "00000000000000000000.json").touch()
    return tmp_path


@contextmanager
def held_elsewhere(kind: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, kind, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        try:
            yield owner
        finally:
            owner.kill()


def test_34_a_second_job_gives_up_at_once_naming_owner_and_age(folder: Path) -> None:
    with held_elsewhere("job_lock", folder) as owner, pytest.raises(Locked) as raised, job_lock(location(str(folder))):
        pytest.fail("two owners")
    assert re.search(rf"is in use by run-{owner.pid}, process {owner.pid} on .*, for \d+ s", str(raised.value))
    assert raised.value.exit_code == 75


def test_a_commit_waits_for_the_other_with_a_bound(folder: Path) -> None:
    table = location(str(folder))
    with held_elsewhere("commit_lock", folder) as owner, pytest.raises(Locked) as raised, commit_lock(table, 0.3):
        pytest.fail("two owners")
    assert f"process {owner.pid}" in str(raised.value)


def test_a_commit_goes_on_when_the_other_is_done_or_dead(folder: Path) -> None:
    with held_elsewhere("commit_lock", folder) as owner:
        threading.Timer(0.5, owner.kill).start()
        with commit_lock(location(str(folder)), wait_seconds=30):
            assert owner.wait() == -9


def test_maintenance_and_a_job_do_not_exclude_each_other(folder: Path) -> None:
    with held_elsewhere("job_lock", folder), commit_lock(location(str(folder)), wait_seconds=0):
        assert (folder / "_alluvium" / "commit.lock").exists()
