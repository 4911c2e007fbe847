"""The real job, killed with SIGKILL at named points in both modes; each recovery is the next victim."""

from pathlib import Path

import pytest

from common.faults import POINTS
from kafka_docker.embedded.kafka import Kafka
from tests.faults.deaths import DEATHS, MODES
from tests.faults.drill import Chain, run_round
from tests.support.commands import ROOT

# After the plan, after the read, before the MERGE, after the commit and before the checkpoint or the next plan, and in
# the midst of quarantine's write and of OPTIMIZE. `make drill` does all of them, and more than once.
NAMES = {"planned", "read", "merge", "reported", "within quarantine", "within optimize"}
IN_BOTH_MODES = {(name, mode) for name in NAMES for mode in MODES}
# Each point once and each mode in turn. A stream has something of its own to lose after the read, and between the
# commit and its checkpoint.
IN_ONE_MODE = {
    ("planned", "batch"),
    ("merge", "batch"),
    ("within optimize", "batch"),
    ("read", "stream"),
    ("within quarantine", "stream"),
    ("reported", "stream"),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("wanted", [IN_ONE_MODE, pytest.param(IN_BOTH_MODES, marks=pytest.mark.long)], ids=len)
def test_01_a_killed_job_neither_loses_nor_repeats_anything(
    kafka: Kafka, tmp_path: Path, wanted: set[tuple[str, str]]
) -> None:
    deaths = [death for death in DEATHS if death.name in NAMES]
    lines = run_round(tmp_path / "world", kafka, "kills", Chain(deaths, batches=1, only=frozenset(wanted)))
    *chain, peace = lines
    assert {(line.death, line.mode) for line in chain} == wanted
    assert [(line.death, line.mode) for line in chain if not line.died] == []
    assert [line for line in chain if line.harm] == []
    assert peace.harm == 0


def test_every_fault_point_is_in_the_code_once() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "common").rglob("*.py"))
    assert {point: sources.count(f'fault_point("{point}")') for point in POINTS} == dict.fromkeys(POINTS, 1)
