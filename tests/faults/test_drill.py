"""The drill itself: it must find a bug that loses records, and it goes on where it was interrupted."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from submit.package import zipped
from tests.support.commands import ROOT, clean_environment

SHARED = (".venv", "build", "conf", "jobs")


def clone_with(changes: list[tuple[str, str]], folder: Path) -> Path:
    """A project like this one, but for some text of the module that commits."""
    folder.mkdir()
    for name in SHARED:
        (folder / name).symlink_to(ROOT / name)
    for name in ("submit", "common"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    module = folder / "common" / "engine" / "commit.py"
    for old, new in changes:
        text = module.read_text()
        assert text.count(old) == 1, old
        module.write_text(text.replace(old, new))
    (folder / "dist").mkdir()
    (folder / "dist" / "common.zip").write_bytes(zipped(folder / "common"))
    return folder


def drill(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults.drill", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)


# The classic: position first, rows second; and nobody looks whether the rows came.
OFFSETS_FIRST = [
    (
        '        fault_point("merge")\n',
        """\
        nothing = replace(merge_request(pending, batch), to_merge=0)
        with transaction(pending.spark, pending.after):
            choose_strategy(begin_merge(nothing), pending.context.strategies).prepared.commit(pending.after)
        fault_point("merge")
""",
    ),
    (
        "    with transaction(spark, stamp):\n        prepared.commit(stamp)\n",
        '    prepared.commit(replace(stamp, pipeline="rows"))\n',
    ),
    ("from dataclasses import dataclass\n", "from dataclasses import dataclass, replace\n"),
    ("        check_outcome(done, batch.to_merge)\n", ""),
]


def test_offsets_committed_before_the_merge_are_found(tmp_path: Path) -> None:
    """A kill between the two loses the batch, and the drill must say so."""
    home = clone_with(OFFSETS_FIRST, tmp_path / "clone")
    asked = ["--rounds", 1, "--mode", "batch", "--death", "merge", "--folder", tmp_path / "drill", "--home", home]
    done = drill(*asked)
    assert done.returncode == 1, done.stdout + done.stderr
    (round_one,) = json.loads((tmp_path / "drill" / "seed-1.json").read_text()).values()
    killed, _ = round_one
    assert killed["died"] == 1
    assert killed["lost"] + killed["stale"] > 0
    again = drill(*asked)
    assert again.returncode == 1
    assert again.stdout.startswith("going on after 1 rounds")
    assert again.stdout.splitlines()[1:] == done.stdout[done.stdout.index("\ndeath") :].splitlines()
