"""The protocol's machine again, on a real broker and a real table: few examples, since each batch takes seconds."""

from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from pyspark.sql import SparkSession

from tests.support.broker import Broker
from tests.support.protocol import RESTORED_MEANWHILE, ProtocolMachine, Seen, TopicTruth
from tests.support.reality import RealWorld

LONG = settings(
    max_examples=12,
    stateful_step_count=10,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
SHORT = settings(LONG, max_examples=4, stateful_step_count=7)
# Tried on the simulated world, where a run costs nothing: these few examples crash, are refused and are remedied.
WORTH_ITS_TIME = 199


@pytest.fixture
def machine(spark: SparkSession, broker: Broker, tmp_path: Path, loaded: Path) -> type[ProtocolMachine]:
    class RealMachine(ProtocolMachine):
        examples = 0
        outcomes: ClassVar[Counter[str]] = Counter()

        def make_world(self, topic: TopicTruth) -> RealWorld:
            RealMachine.examples += 1
            return RealWorld(spark, broker, tmp_path / str(self.examples), loaded, topic)

    return RealMachine


def without_restore(machine: type[ProtocolMachine]) -> type[RuleBasedStateMachine]:
    """Delta's RESTORE alone takes half a minute; tests/integration/test_epoch.py has it, and the long run."""

    class Quick(machine):
        def restore(self, version: int) -> None:
            pass

        def possible(self, fault: str | None) -> str | None:
            return None if fault == RESTORED_MEANWHILE else fault

    return Quick


def test_whatever_happens_nothing_is_lost_or_repeated(machine: type[ProtocolMachine]) -> None:
    run_state_machine_as_test(seed(WORTH_ITS_TIME)(without_restore(machine)), settings=SHORT)
    assert machine.outcomes.keys() >= {"batch settled", "stream settled", "stream crashed", "refused", "remedied"}


def test_what_others_rearrange_is_a_commit(spark: SparkSession, broker: Broker, tmp_path: Path, loaded: Path) -> None:
    """The machine counts versions: an act of others that made none would put every later one in the wrong place."""
    world = RealWorld(spark, broker, tmp_path / "world", loaded, TopicTruth())
    world.rearrange()
    assert world.seen_since(0) == [Seen(None, 0)]
    world.close()


@pytest.mark.long
def test_the_same_for_longer(machine: type[ProtocolMachine]) -> None:
    run_state_machine_as_test(machine, settings=LONG)
