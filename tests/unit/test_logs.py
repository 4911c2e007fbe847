"""Log lines: each says which run and which job it is of."""

import json
import subprocess
import sys
from pathlib import Path

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
