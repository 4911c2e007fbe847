"""A broker and a table's log in memory. Everything that decides is the project's own code."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from common.delta.format.log_entry import Commit, parse_commit
from common.delta.ledger import Ledger, LogState
from common.engine import commit, resume
from common.errors import StateError
from common.model import offsets
from common.model.offsets import Available, Plan, TopicPartition
from common.model.position import Position, first_position
from common.operations import epoch
from common.operations import rewind as operator
from tests.support.partitions import numbered, of_topic
from tests.support.protocol import (
    AFTER_COPY,
    ANSWER_LOST,
    BEFORE_COMMIT,
    BEFORE_COPY,
    RESTORED_MEANWHILE,
    RIVAL,
    Crash,
    Record,
    Seen,
    TopicTruth,
)

PIPELINE = "trial"


class SimulatedTopic:
    """Answers as common.kafka.topic.TopicClient does."""

    names = ("readings",)

    def __init__(self, truth: TopicTruth) -> None:
        self.truth = truth

    def ids(self) -> dict[str, str]:
        return {self.names[0]: f"id-{self.truth.generation}"}

    def available(self) -> Available:
        return Available(self._of_topic(self.truth.earliest()), self._of_topic(self.truth.ends()))

    def _of_topic(self, offsets: Mapping[int, int]) -> dict[TopicPartition, int]:
        return of_topic(self.names[0], offsets)

    def read(self, planned: Plan) -> list[Record]:
        """As Spark does: an offset that the log does not have fails the read."""
        for number, start in planned.start.items():
            partition = self.truth.partitions[number.partition]
            assert partition.earliest <= start <= planned.end[number] <= partition.end, "a plan beyond the log"
        return sorted(self.truth.between(numbered(planned.start), numbered(planned.end)))


@dataclass(frozen=True)
class Entry:
    """One version: its commit file, and the records that the table's rows hold after it."""

    text: str
    rows: frozenset[Record]
    written: int


class SimulatedLog:
    """A Delta log: a RESTORE keeps every transaction in the snapshot, and a transaction seen before is skipped."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.oldest = 0
        self._transactions: dict[str, int] = {}

    def version(self) -> int:
        return len(self.entries) - 1

    def transactions(self) -> dict[str, int]:
        return dict(self._transactions)

    def table_id(self) -> str:
        return "table"

    def state(self) -> LogState:
        return LogState(self.version(), self.transactions(), metadata="", files=1)

    def backwards(self, version: int | None = None) -> Iterator[Commit]:
        for number in range(self.version() if version is None else version, self.oldest - 1, -1):
            yield parse_commit(number, self.entries[number].text)

    def read(self, version: int) -> Commit | None:
        return parse_commit(version, self.entries[version].text) if version >= self.oldest else None

    def rows(self) -> frozenset[Record]:
        return self.entries[-1].rows

    def commit(self, position: Position, written: list[Record], *, mode: str = "Append") -> None:
        if self._transactions.get(position.app_id, -1) >= position.seq:
            return
        self._transactions[position.app_id] = position.seq
        kept = self.rows() if mode == "Append" else frozenset[Record]()
        parameters = {"mode": mode}
        info = {"operation": "WRITE", "operationParameters": parameters, "userMetadata": position.to_metadata()}
        txn = {"txn": {"appId": position.app_id, "version": position.seq}}
        self._add(info, kept | frozenset(written), len(written), json.dumps(txn))

    def add_rows(self, written: list[Record]) -> None:
        """Rows without a transaction, as no one should write them."""
        self._add({"operation": "WRITE", "operationParameters": {}}, self.rows() | set(written), len(written))

    def foreign(self, operation: str, rows: frozenset[Record], **parameters: str | int) -> None:
        self._add({"operation": operation, "operationParameters": parameters}, rows, 0)

    def _add(self, info: Mapping[str, object], rows: frozenset[Record], written: int, *lines: str) -> None:
        self.entries.append(Entry("\n".join([json.dumps({"commitInfo": info}), *lines]), rows, written))


class SimulatedCopies(dict[str, str]):
    """Answers as common.delta.small_files.Files does."""

    def names(self) -> list[str]:
        return sorted(self)

    def read(self, name: str) -> str | None:
        return self.get(name)

    def write(self, name: str, text: str) -> None:
        self[name] = text

    def delete(self, name: str) -> None:
        self.pop(name, None)


class SimulatedWorld:
    """The drivers' and the operator's way around the decisions, with the steps of their commits in the same order."""

    def __init__(self, truth: TopicTruth) -> None:
        self.topic = SimulatedTopic(truth)
        self.log = SimulatedLog()
        self.copies = SimulatedCopies()
        self.ledger = Ledger(self.log, self.copies, "table", PIPELINE)
        self.runs = 0
        # What Spark had planned and not finished when it crashed, by the epoch that it belonged to.
        self.unanswered: dict[int, Plan] = {}
        self.load_again()

    def close(self) -> None:
        pass

    # The topic's truth is the broker itself: nothing to tell it, except that Spark's checkpoints are of one topic only.

    def produce(self, partition: int, offsets: list[int], *, marker: bool) -> None:
        pass

    def truncate(self, partition: int, before: int) -> None:
        pass

    def add_partition(self) -> None:
        pass

    def recreate(self) -> None:
        self.unanswered.clear()

    # The table, by others

    def restore(self, version: int) -> None:
        self.log.foreign("RESTORE", self.log.entries[version].rows, version=version)

    def overwrite(self) -> None:
        self.log.foreign("WRITE", frozenset(), mode="Overwrite")

    def rearrange(self) -> None:
        self.log.foreign("OPTIMIZE", self.log.rows())

    def expire(self) -> None:
        self.log.oldest = self.log.version()

    def lose_copies(self) -> None:
        self.copies.clear()

    # The drivers

    def run(self, mode: str, limit: int, fault: str | None) -> None:
        self.runs += 1
        start = resume.resume(self.ledger, self.topic)
        self.ledger.copy(start.position)
        if mode == "batch":
            self._loop(start, limit, fault)
        else:
            self._stream(start, limit, fault)

    def _loop(self, start: resume.Resumption, limit: int, fault: str | None) -> None:
        position = start.position
        while (planned := offsets.plan(position.offsets, start.available, limit)).records:
            position = self._settle(start, position, planned, fault)

    def _stream(self, start: resume.Resumption, limit: int, fault: str | None) -> None:
        """Spark's own ranges; after each batch, and after a crash, Spark may give the same one again."""
        position = start.position
        logged: Mapping[TopicPartition, int] = offsets.starting_offsets(position.offsets, start.available)
        again = self.unanswered.pop(position.epoch, None)
        if again is not None and self._is_there(again):
            position = self._given_again(start, position, again)
            logged = offsets.starting_offsets(position.offsets, start.available)
        while (end := self._next_end(logged, limit)) != logged:
            planned = resume.planned_by_spark(logged, end)
            self.unanswered[position.epoch] = planned
            position = self._given(start, position, planned, fault)
            position = self._given(start, position, planned, fault)
            logged = end
            self.unanswered.clear()

    def _given(self, start: resume.Resumption, position: Position, planned: Plan, fault: str | None) -> Position:
        if resume.is_already_committed(planned, position):
            return position
        return self._settle(start, position, planned, fault)

    def _given_again(self, start: resume.Resumption, position: Position, planned: Plan) -> Position:
        """As from an old checkpoint: refused where the table has moved, and then the job is started again."""
        try:
            return self._given(start, position, planned, None)
        except StateError as error:
            assert error.remedy == "start the job again: it goes on from the table"  # noqa: PT017
            return position

    def _is_there(self, planned: Plan) -> bool:
        available = self.topic.available()
        return all(available.earliest[number] <= first for number, first in planned.start.items())

    def _next_end(self, logged: Mapping[TopicPartition, int], limit: int) -> dict[TopicPartition, int]:
        end = {}
        for number, after in self.topic.available().ends.items():
            first = logged.get(number, 0)
            end[number] = min(after, first + limit)
            limit -= end[number] - first
        return end

    def _settle(self, start: resume.Resumption, before: Position, planned: Plan, fault: str | None) -> Position:
        rows = self.topic.read(planned)
        assert before.seq - start.position.seq <= sum(planned.end.values()), "this run never ends"
        resume.refuse_recreated(self.topic.ids(), start.topic_ids)
        after = before.advanced(start.topic_ids, planned.end)
        after = replace(after, run=f"run-{self.runs}")
        if fault == BEFORE_COMMIT:
            raise Crash
        if fault == RIVAL:
            self.run("batch", planned.records, None)
        commit.refuse_moved(self.ledger, before)
        if fault == RESTORED_MEANWHILE and self.log.version() > self.log.oldest:
            self.restore(self.log.version() - 1)
        self.write(after, rows)
        if fault == ANSWER_LOST:
            assert self.ledger.has(after)
        self.ledger.metrics(after)
        if fault == BEFORE_COPY:
            raise Crash
        self.ledger.copy(after)
        if fault == AFTER_COPY:
            raise Crash
        return after

    def write(self, position: Position, rows: list[Record]) -> None:
        self.log.commit(position, rows)

    # The operator

    def begin_epoch(self, at: str, fault: str | None) -> None:
        self._act(operator.at_choice(at), fault)

    def rewind(self, partition: int, offset: int) -> None:
        named = f"{partition}={offset}"
        self._act(operator.rewind_choice(to_time=None, to_offset=named, by=None, to_beginning=False), None)

    def _act(self, choice: operator.Choice, fault: str | None) -> None:
        chosen, before = choice(self.ledger, self.topic)
        proposal = epoch.propose_epoch(self.ledger, self.topic.ids(), offsets=chosen, before=before)
        assert len(proposal.lines()) == len(chosen)
        if fault == BEFORE_COMMIT:
            raise Crash
        self.log.commit(proposal.position, [])
        if fault == BEFORE_COPY:
            raise Crash
        self.ledger.copy(proposal.position)
        if fault == AFTER_COPY:
            raise Crash

    def load_again(self) -> None:
        position = first_position(PIPELINE, self.ledger.greatest_epoch() + 1, self.topic.names)
        self.log.commit(position, [], mode="Overwrite")
        self.ledger.copy(position)

    # What the machine sees

    def rows(self) -> set[Record]:
        return set(self.log.rows())

    def seen_since(self, version: int) -> list[Seen]:
        return [seen(entry) for entry in self.log.entries[version + 1 :]]


def seen(entry: Entry) -> Seen:
    info = parse_commit(0, entry.text).info
    claim = json.loads(info["userMetadata"])["offsets"] if "userMetadata" in info else None
    claimed = None if claim is None else {int(number): offset for number, offset in claim.items()}
    return Seen(claimed, entry.written, info["operationParameters"].get("version"))
