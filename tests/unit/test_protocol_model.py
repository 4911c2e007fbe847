"""The protocol as a machine, on a simulated broker and log: every decision is the project's own code."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from common.delta.ledger import Ledger
from common.engine import resume
from common.model import offsets
from common.model.offsets import Available, Offsets
from common.model.position import Position
from tests.support.protocol import ProtocolMachine, Record, TopicTruth
from tests.support.simulation import SimulatedWorld

# Every planted bug below is found within 200 examples.
OFTEN = settings(
    max_examples=600,
    stateful_step_count=30,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
# The same examples at every run, and no time spent on making a failure small that is wanted.
UNTIL_FOUND = settings(OFTEN, derandomize=True, phases=[Phase.generate])


class SimulatedMachine(ProtocolMachine):
    def make_world(self, topic: TopicTruth) -> SimulatedWorld:
        return SimulatedWorld(topic)


def test_whatever_happens_nothing_is_lost_or_repeated() -> None:
    run_state_machine_as_test(SimulatedMachine, settings=OFTEN)


@pytest.mark.long
def test_the_same_for_longer() -> None:
    run_state_machine_as_test(SimulatedMachine, settings=settings(OFTEN, max_examples=10_000))


def never(*_: object) -> bool:
    return False


def nothing(*_: object) -> None:
    return None


def offsets_before_rows(world: SimulatedWorld, position: Position, rows: list[Record]) -> None:
    world.log.commit(position, [])
    world.ledger.copy(position)
    world.log.add_rows(rows)


def from_the_earliest(_: Offsets, available: Available) -> Offsets:
    return dict(available.earliest)


def from_the_least_committed(committed: Offsets, available: Available) -> Offsets:
    least = min(committed.values(), default=0)
    return {partition: max(least, first) for partition, first in available.earliest.items()}


def newest_position(ledger: Ledger) -> Position | None:
    return ledger._newest_copy()


BUGS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "offsets are committed before the rows": (SimulatedWorld, "write", offsets_before_rows),
    "the topic's id is not looked at": (resume, "refuse_other_topics", nothing),
    "it reads from the earliest record": (offsets, "starting_offsets", from_the_earliest),
    "it reads from the least committed offset": (offsets, "starting_offsets", from_the_least_committed),
    "a loss is passed over": (offsets, "refuse_loss", nothing),
    "a RESTORE is not looked for": (Ledger, "_refuse_replaced", nothing),
    "a stream's batch is never taken for settled": (resume, "is_already_committed", never),
    "no copy is kept": (Ledger, "copy", nothing),
    "after a RESTORE it goes on from the newest position": (Ledger, "position_of_rows", newest_position),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, broken = BUGS[bug]
    monkeypatch.setattr(place, name, broken)
    with pytest.raises(Exception, match="Failing test case"):
        run_state_machine_as_test(SimulatedMachine, settings=UNTIL_FOUND)
