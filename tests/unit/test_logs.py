"""Log lines: each says which run and which job it is of."""

import json
import logging
import stat
import subprocess
import sys
from pathlib import Path

from common.logs import RotatedFile
from tests.support.commands import ROOT, clean_environment

IN_TWO_THREADS = """
import threading, structlog
from common.logs import configure_logs
configure_logs("a_job")
log = structlog.get_logger()
log.info("here")
there = threading.Thread(target=log.info, args=("there",))
there.start()
there.join()
"""


UNTIL_FULL = """
import logging, sys
from pathlib import Path
from common.logs import RotatedFile
log = logging.getLogger()
log.addHandler(RotatedFile(Path(sys.argv[1]), max_bytes=20_000, older_files=50))
for number in range(1_000):
    log.warning("%s %s", sys.argv[2], number)
"""


def test_a_log_of_several_processes_is_rotated_and_no_line_is_lost(tmp_path: Path) -> None:
    command = [sys.executable, "-c", UNTIL_FULL, str(tmp_path / "a_job.log")]
    jobs = [subprocess.Popen([*command, name], cwd=ROOT, env=clean_environment()) for name in ("one", "two", "three")]
    assert [job.wait(60) for job in jobs] == [0, 0, 0]
    files = list(tmp_path.iterdir())
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{name} {number}" for name in ("one", "two", "three") for number in range(1_000))
    assert len(files) > 1
    # A line more, of each process.
    assert max(file.stat().st_size for file in files) < 20_100
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_oldest_files_of_a_log_go(tmp_path: Path) -> None:
    target = RotatedFile(tmp_path / "a_job.log", max_bytes=100, older_files=2)
    for number in range(100):
        target.emit(logging.LogRecord("any", logging.INFO, "", 0, f"line {number}", None, None))
    target.close()
    assert {file.name for file in tmp_path.iterdir()} == {"a_job.log", "a_job.log.1", "a_job.log.2"}
    kept = [(tmp_path / name).read_text() for name in ("a_job.log.2", "a_job.log.1", "a_job.log")]
    assert "".join(kept).splitlines()[-20:] == [f"line {number}" for number in range(80, 100)]


def test_every_thread_names_the_run_and_the_job(tmp_path: Path) -> None:
    """Spark calls what settles a stream's batch in a thread of its own."""
    environment = clean_environment(ALLUVIUM_LOG_DIR=str(tmp_path), ALLUVIUM_RUN_ID="run-7")
    done = subprocess.run(
        [sys.executable, "-c", IN_TWO_THREADS], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["event"], line["job"], line["run_id"]) for line in lines] == [
        ("here", "a_job", "run-7"),
        ("there", "a_job", "run-7"),
    ]
    assert [json.loads(line)["run_id"] for line in (tmp_path / "a_job.log").read_text().splitlines()] == ["run-7"] * 2
