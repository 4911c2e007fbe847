"""The ledger on a log in memory: what it answers, and how much of the log it reads for that."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from common.delta.format.log_entry import Commit
from common.delta.ledger import Ledger
from common.model.position import Position, first_position
from tests.support.simulation import PIPELINE, SimulatedCopies, SimulatedLog

VERSIONS = 3000


class WatchedLog(SimulatedLog):
    """Counts the entries that somebody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def backwards(self, version: int | None = None) -> Iterator[Commit]:
        for commit in super().backwards(version):
            self.reads += 1
            yield commit


def at(seq: int, *, epoch: int = 1) -> Position:
    return replace(first_position(PIPELINE, epoch, ["readings"]), seq=seq)


@pytest.fixture
def log() -> WatchedLog:
    """Three transactions of ours, at the bottom of a long log of somebody else."""
    log = WatchedLog()
    log.commit(at(0), [], mode="Overwrite")
    for seq in (1, 2):
        log.commit(at(seq), [])
    for _ in range(VERSIONS):
        log.foreign("OPTIMIZE", log.rows())
    return log


@pytest.fixture
def ledger(log: WatchedLog) -> Ledger:
    return Ledger(log, SimulatedCopies(), "table", PIPELINE)


def test_a_transaction_that_never_came_is_known_without_reading_the_log(log: WatchedLog, ledger: Ledger) -> None:
    assert not ledger.has(at(3))
    assert not ledger.has(at(0, epoch=2))
    assert log.reads <= 2


def test_what_was_committed_is_found_below_other_commits(log: WatchedLog, ledger: Ledger) -> None:
    assert ledger.has(at(2))
    assert ledger.has(at(1))
    log.commit(at(3), [])
    log.reads = 0
    assert ledger.has(at(3))
    assert log.reads == 1


def test_a_rival_under_the_same_number_is_not_ours(log: WatchedLog, ledger: Ledger) -> None:
    log.commit(replace(at(3), run="a rival"), [])
    log.reads = 0
    assert not ledger.has(at(3))
    assert log.reads == 1


@pytest.mark.parametrize("left", ["transactions", "copies", "log"])
def test_an_epoch_is_remembered_by_whatever_tells_of_it(log: WatchedLog, ledger: Ledger, left: str) -> None:
    log.commit(at(0, epoch=2), [])
    if left == "copies":
        ledger.copy(at(0, epoch=2))
        log.entries.clear()
        log.foreign("WRITE", frozenset())
    if left != "transactions":
        log._transactions.clear()
    assert ledger.greatest_epoch() == 2


def test_a_table_of_others_has_no_epoch() -> None:
    log = SimulatedLog()
    ledger = Ledger(log, SimulatedCopies({"checkpoint": "", ".1-0.json.partial": ""}), "table", PIPELINE)
    assert ledger.greatest_epoch() == 0
    log.foreign("WRITE", frozenset())
    assert ledger.greatest_epoch() == 0
