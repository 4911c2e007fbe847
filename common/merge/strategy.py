"""The interface of a merge strategy: it prepares a batch or declines it with a reason, and commits when told to."""

from dataclasses import dataclass
from typing import Protocol

from common.merge.request import MergeAttempt
from common.model.position import Stamp


@dataclass(frozen=True)
class MergeForecast:
    """What the table held for the batch: candidate files, and changes that find nothing to do, because a row of the
    table is newer or none is there to delete. `candidates` is None where every file is one."""

    candidates: int | None
    superseded: int
    absent: int


@dataclass(frozen=True)
class Declined:
    """Why a strategy leaves a batch to the next one."""

    reason: str


class PreparedMerge(Protocol):
    """A batch that is ready to be committed."""

    @property
    def forecast(self) -> MergeForecast: ...

    def commit(self, stamp: Stamp) -> None: ...


class MergeStrategy(Protocol):
    """One way to merge a batch. All of them give the same table: tests/conformance."""

    @property
    def name(self) -> str: ...

    def prepare(self, attempt: MergeAttempt) -> PreparedMerge | Declined: ...
