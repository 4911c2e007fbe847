"""The drill itself: it must find a bug that loses records, and it goes on where it was interrupted."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from submit.package import zipped
from tests.support.commands import ROOT, clean_environment

SHARED = (".venv", "build", "conf", "jobs")


def clone_with(changes: dict[str, tuple[str, str]], folder: Path) -> Path:
    """A project like this one, but for some text of some modules in common."""
    for name in SHARED:
        (folder / name).symlink_to(ROOT / name)
    for name in ("submit", "common"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in changes.items():
        module = folder / "common" / name
        text = module.read_text()
        assert old in text
        module.write_text(text.replace(old, new))
    (folder / "dist").mkdir()
    (folder / "dist" / "common.zip").write_bytes(zipped(folder / "common"))
    return folder


def drill(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults.drill", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)


OFFSETS_FIRST = (
    "    with transaction(spark, step.after):\n",
    "    with transaction(spark, step.after):\n"
    "        append_nothing(spark, step.table.uri)\n"
    '    fault_point("planted")\n'
    "    if True:\n",
)


def test_offsets_committed_before_the_merge_are_found(tmp_path: Path) -> None:
    """The classic: position first, rows second. A kill between the two loses the batch, and the drill must say so."""
    planted = {"pipeline/commit.py": OFFSETS_FIRST, "faults.py": ('"optimize",\n', '"optimize",\n    "planted",\n')}
    (tmp_path / "clone").mkdir()
    home = clone_with(planted, tmp_path / "clone")
    done = drill("--rounds", 1, "--mode", "batch", "--point", "planted", "--folder", tmp_path / "drill", "--home", home)
    assert done.returncode == 1, done.stdout + done.stderr
    (round_one,) = json.loads((tmp_path / "drill" / "seed-1.json").read_text()).values()
    (planted_line,) = [line for line in round_one if line["death"] == "planted"]
    assert planted_line["died"] == 1
    assert planted_line["lost"] + planted_line["stale"] > 0
