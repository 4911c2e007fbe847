"""The protocol's promises as a machine of rules: what may happen to a topic and a table, and what must hold after it.

The machine keeps a truth of its own: which records the topic has, and for every version of the table which records its
rows hold and from where the next are to come. It gives the same orders to a world, simulated or real, and compares.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from common.errors import AlluviumError, StateError, UsageError

# Generation of the topic, partition, offset.
Record = tuple[int, int, int]
BEFORE_COMMIT, ANSWER_LOST, BEFORE_COPY, AFTER_COPY = "before the commit", "answer lost", "before the copy", "after it"
RIVAL, RESTORED_MEANWHILE = "a rival commits first", "a RESTORE lands between the check and the commit"
CRASHES = (BEFORE_COMMIT, BEFORE_COPY, AFTER_COPY)
MAX_PARTITIONS = 4
COUNTS = st.integers(0, 4**MAX_PARTITIONS - 1)
PARTITION = st.integers(0, MAX_PARTITIONS - 1)
CRASHING = ", crashing"
TOPICS_ACTS = ("truncate", "truncate", "add partition", "recreate")
FOREIGN_ACTS = ("rearrange", "expire", "expire, rearranged", "lose copies", "restore", "overwrite")
OPERATORS_ACTS = (
    "rewind",
    "rewind",
    "table",
    f"table{CRASHING}",
    "beginning",
    f"beginning{CRASHING}",
    "end",
    "load again",
)
REMEDIES_AT_MOST = 3


class Crash(Exception):
    """The process is gone; what it had done stays."""


@dataclass
class Partition:
    """One partition's log. An offset without a record is a gap: a transaction's marker."""

    earliest: int = 0
    end: int = 0
    records: set[int] = field(default_factory=set)

    def append(self, count: int, *, marker: bool) -> list[int]:
        added = list(range(self.end, self.end + count))
        self.records.update(added)
        self.end += count + (1 if marker else 0)
        return added


@dataclass
class TopicTruth:
    """The topic as it is; a recreated one is another generation."""

    generation: int = 0
    partitions: list[Partition] = field(default_factory=lambda: [Partition(), Partition()])

    def earliest(self) -> dict[int, int]:
        return {number: each.earliest for number, each in enumerate(self.partitions)}

    def ends(self) -> dict[int, int]:
        return {number: each.end for number, each in enumerate(self.partitions)}

    def between(self, start: Mapping[int, int], end: Mapping[int, int]) -> set[Record]:
        return {
            (self.generation, number, offset)
            for number, after in end.items()
            for offset in range(start[number], after)
            if offset in self.partitions[number].records
        }

    def nearest(self, wanted: Mapping[int, int]) -> dict[int, int]:
        return {
            number: min(max(wanted.get(number, 0), each.earliest), each.end)
            for number, each in enumerate(self.partitions)
        }


@dataclass(frozen=True)
class Version:
    """One version of the table: its records, and from where the next are to come. None: its rows are nobody's."""

    rows: frozenset[Record] = frozenset()
    offsets: Mapping[int, int] | None = field(default_factory=dict)
    generation: int | None = None
    replaced: bool = False

    def start(self, topic: TopicTruth) -> dict[int, int]:
        """An epoch without offsets begins with what there is; otherwise an unknown partition begins at its first."""
        if not self.offsets:
            return topic.earliest()
        return {number: self.offsets.get(number, 0) for number in topic.ends()}


@dataclass(frozen=True)
class Seen:
    """One commit as the log shows it: the offsets it claims and the rows it wrote, or the version it restored."""

    offsets: Mapping[int, int] | None
    written: int
    restored: int | None = None


class World(Protocol):
    """What the machine orders, and what it sees of the table without the code under test."""

    def produce(self, partition: int, offsets: list[int], *, marker: bool) -> None: ...
    def truncate(self, partition: int, before: int) -> None: ...
    def add_partition(self) -> None: ...
    def recreate(self) -> None: ...
    def run(self, mode: str, limit: int, fault: str | None) -> None: ...
    def begin_epoch(self, at: str, fault: str | None) -> None: ...
    def rewind(self, partition: int, offset: int) -> None: ...
    def load_again(self) -> None: ...
    def restore(self, version: int) -> None: ...
    def overwrite(self) -> None: ...
    def rearrange(self) -> None: ...
    def expire(self) -> None: ...
    def lose_copies(self) -> None: ...
    def rows(self) -> set[Record]: ...
    def seen_since(self, version: int) -> list[Seen]: ...
    def close(self) -> None: ...


class ProtocolMachine(RuleBasedStateMachine):
    """Whatever happens: nothing lost without a word, nothing twice unless asked for, and every remedy works."""

    # What came to pass in all examples, for a test to see that it did.
    outcomes: ClassVar[Counter[str]] = Counter()

    def make_world(self, topic: TopicTruth) -> World:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.topic = TopicTruth()
        self.versions = [Version()]
        self.oldest_entry = 0
        self.newest_own = 0
        self.copy_missing = False
        self.world = self.make_world(self.topic)

    def teardown(self) -> None:
        self.world.close()

    @property
    def now(self) -> Version:
        return self.versions[-1]

    # The topic. Few rules with many acts: a rule is drawn as often as any other, and runs should be frequent.

    @rule(counts=COUNTS)
    def produce(self, counts: int) -> None:
        """Read to the base of four: how many records for each partition; an even number of them as a transaction."""
        marker = counts % 2 == 0
        for number, each in enumerate(self.topic.partitions):
            if count := counts // 4**number % 4:
                self.world.produce(number, each.append(count, marker=marker), marker=marker)

    @rule(act=st.sampled_from(TOPICS_ACTS), fresh=COUNTS, number=PARTITION, left=st.integers(0, 4))
    def change_topic(self, act: str, fresh: int, number: int, left: int) -> None:
        if act == "truncate":
            self.produce(fresh)
            self.truncate(number % len(self.topic.partitions), left)
        elif act == "recreate":
            self.recreate()
        elif len(self.topic.partitions) < MAX_PARTITIONS:
            self.topic.partitions.append(Partition())
            self.world.add_partition()

    def truncate(self, number: int, left: int) -> None:
        partition = self.topic.partitions[number]
        partition.earliest = max(partition.earliest, partition.end - left)
        self.world.truncate(number, partition.earliest)

    def recreate(self) -> None:
        self.topic.generation += 1
        self.topic.partitions[:] = [Partition(), Partition()]
        self.world.recreate()

    # The table, by others

    @rule(act=st.sampled_from(FOREIGN_ACTS), back=st.integers(1, 4))
    def change_table(self, act: str, back: int) -> None:
        if act == "restore":
            self.restore(max(self.oldest_entry, len(self.versions) - 1 - back))
        elif act == "overwrite":
            self.world.overwrite()
            self.versions.append(Version(offsets=None, replaced=True))
        elif act == "rearrange":
            self.rearrange()
        elif act.startswith("expire"):
            self.expire(rearranged=act != "expire")
        else:
            self.world.lose_copies()
            self.copy_missing = True

    def restore(self, version: int) -> None:
        if version < len(self.versions) - 1:
            self.world.restore(version)
            self.versions.append(replace(self.versions[version], replaced=True))

    def rearrange(self) -> None:
        self.world.rearrange()
        self.versions.append(self.now)

    def expire(self, *, rearranged: bool) -> None:
        """Not what was replaced before anyone ran: after that long nobody can see it any more, a limit of the log."""
        if not self.now.replaced:
            if rearranged:
                self.rearrange()
            self.world.expire()
            self.oldest_entry = len(self.versions) - 1

    # The drivers

    @rule(
        fresh=COUNTS,
        mode=st.sampled_from(["batch", "stream"]),
        limit=st.integers(1, 12),
        fault=st.sampled_from([None, None, None, *CRASHES, ANSWER_LOST, RIVAL, RESTORED_MEANWHILE]),
        remedy=st.sampled_from([None, 0, -1]),
    )
    def run(self, fresh: int, mode: str, limit: int, fault: str | None, remedy: int | None) -> None:
        self.produce(fresh)
        refusal, fault = self.refusal(), self.possible(fault)
        try:
            self.world.run(mode, limit, fault)
        except Crash:
            self.outcomes[f"{mode} crashed"] += 1
            self.settled(to_the_end=False)
            self.copy_missing = fault == BEFORE_COPY
        except StateError as error:
            self.refused(error, refusal, fault)
            if remedy is not None:
                self.follow(error, remedy)
        else:
            assert refusal is None, f"it ran, and should have said {refusal}"
            self.outcomes[f"{mode} settled"] += 1
            self.settled(to_the_end=True)
            self.copy_missing = False

    def possible(self, fault: str | None) -> str | None:
        """A world may leave out what takes it too long."""
        return fault

    def refused(self, error: StateError, refusal: str | None, fault: str | None) -> None:
        self.outcomes["refused"] += 1
        if refusal is not None:
            assert re.search(refusal, str(error)), f"it should have said '{refusal}', and said: {error}"
            self.nothing_happened()
            return
        assert fault in {RIVAL, RESTORED_MEANWHILE}, f"there was no reason to refuse: {error}"
        self.settled(to_the_end=False)
        self.copy_missing = False

    def refusal(self) -> str | None:
        """Why a run must stop now, in the order in which it can know."""
        if self.now.replaced:
            return "replaced rows that were settled before; say where to go on"
        if self.log_is_silent:
            return "has expired and its copy is missing"
        if self.topic_is_another:
            return "was recreated"
        for number, wanted in sorted(self.now.start(self.topic).items()):
            earliest = self.topic.partitions[number].earliest
            if wanted < earliest:
                lost = f"partition {number} of '[^']+': offset {wanted} is wanted, {earliest} is the earliest left"
                return f"{lost}, {earliest - wanted} records are lost"
        return None

    @property
    def log_is_silent(self) -> bool:
        return self.copy_missing and self.newest_own < self.oldest_entry

    @property
    def topic_is_another(self) -> bool:
        return self.now.generation not in {None, self.topic.generation}

    def follow(self, error: AlluviumError, which: int) -> None:
        """Do what the error says, until a run succeeds: now, since nothing else has happened."""
        for _ in range(REMEDIES_AT_MOST):
            places = re.findall(r"--at (\w+)", error.remedy)
            try:
                if places:
                    self.epoch_at(places[which])
                self.world.run("batch", 100, None)
            except AlluviumError as again:
                error = again
            else:
                self.settled(to_the_end=True)
                self.copy_missing = False
                self.outcomes["remedied"] += 1
                return
        raise AssertionError(f"the remedies lead nowhere; the last: {error}")

    # The operator

    @rule(act=st.sampled_from(OPERATORS_ACTS), number=PARTITION, far=st.integers(0, 20), fault=st.sampled_from(CRASHES))
    def operate(self, act: str, number: int, far: int, fault: str) -> None:
        if act == "rewind":
            self.rewind(number % len(self.topic.partitions), far)
        elif act == "load again":
            self.world.load_again()
            self.added(Version())
            self.copy_missing = False
        else:
            self.epoch(act.removesuffix(CRASHING), fault if act.endswith(CRASHING) else None)

    def epoch(self, at: str, fault: str | None) -> None:
        try:
            self.epoch_at(at, fault)
        except UsageError:
            assert at == "table"
            assert self.place_unknown(), "the table's place is known"
            self.nothing_happened()

    def epoch_at(self, at: str, fault: str | None = None) -> None:
        begin = {"table": self.now.offsets or {}, "beginning": self.topic.earliest(), "end": self.topic.ends()}[at]
        try:
            self.world.begin_epoch(at, fault)
        except Crash:
            if fault == BEFORE_COMMIT:
                self.nothing_happened()
                return
        assert at != "table" or (self.now.offsets is not None and not self.topic_is_another)
        self.began(self.topic.nearest(begin))
        self.copy_missing = fault == BEFORE_COPY

    def place_unknown(self) -> bool:
        restored_to_silence = self.now.replaced and self.oldest_entry > 0
        return self.now.offsets is None or self.topic_is_another or self.log_is_silent or restored_to_silence

    def rewind(self, number: int, far: int) -> None:
        partition = self.topic.partitions[number]
        offset = partition.earliest + far % (partition.end - partition.earliest + 1)
        no_place = self.now.replaced or self.topic_is_another or self.log_is_silent
        try:
            self.world.rewind(number, offset)
        except StateError:
            assert no_place, "there was no reason to refuse"
            self.nothing_happened()
        else:
            assert not no_place
            self.began(self.topic.nearest({**(self.now.offsets or {}), number: offset}))
            self.copy_missing = False

    # What must hold

    def began(self, offsets: Mapping[int, int]) -> None:
        assert self.unseen() == [Seen(offsets, 0)]
        self.added(Version(self.now.rows, offsets, self.topic.generation))

    def added(self, own: Version) -> None:
        self.versions.append(own)
        self.newest_own = len(self.versions) - 1

    def settled(self, *, to_the_end: bool) -> None:
        """Every new commit claims offsets, and has written exactly the records between them and the claim before."""
        start, placed = self.now.start(self.topic), (self.now.offsets or {}).keys()
        for seen in self.unseen():
            if seen.restored is not None:
                self.versions.append(replace(self.versions[seen.restored], replaced=True))
                continue
            assert seen.offsets is not None
            assert seen.offsets.keys() >= placed, "a partition's place is forgotten"
            new = self.topic.between(start, seen.offsets)
            assert seen.written == len(new), f"{seen.written} rows were written, {len(new)} are new: {seen}"
            start, placed = dict.fromkeys(start, 0) | dict(seen.offsets), seen.offsets.keys()
            # On top of a RESTORE the rows go on from the restored version, whatever the commit claims.
            kept = self.now if self.now.replaced else Version(offsets=seen.offsets, generation=self.topic.generation)
            self.added(replace(kept, rows=self.now.rows | new))
        if to_the_end and not self.now.replaced:
            assert self.now.start(self.topic) == self.topic.ends(), "a run that ends has settled everything"
        assert self.world.rows() == self.now.rows

    def nothing_happened(self) -> None:
        assert self.unseen() == []

    def unseen(self) -> list[Seen]:
        return self.world.seen_since(len(self.versions) - 1)

    @invariant()
    def the_model_has_seen_every_commit(self) -> None:
        self.nothing_happened()
