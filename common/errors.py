"""Every error that a user can meet: one line with the remedy, and an exit code that cron can act on.

AlluviumError              1   the run failed
├── UsageError             2   an argument, a file or the configuration is wrong
│   ├── ConfigurationError
│   │   ├── SchemaMismatch
│   │   ├── UnclearKeys
│   │   └── NotAllowed
│   ├── NotADeltaTable
│   └── TopicMissing
├── OutOfSpace             1   a file system is full
├── AccountingError        1   rows and offsets do not add up: nothing was committed
├── CommitMismatch         1   a commit stands, and its own figures do not fit the rows that went in
├── TooManyBadRecords      1   more records would be quarantined than the pipeline allows
├── StateError             1   the table and the topic do not fit together; needs a decision of the operator
│   └── SplitKeyError
└── TryLater              75   nothing is wrong with the request, now is not the time
    ├── BrokerUnreachable
    ├── RegistryUnreachable
    ├── ConnectUnreachable
    ├── DatabaseUnreachable
    └── Locked
"""

from typing import ClassVar


class AlluviumError(Exception):
    """An expected failure: `message` names the thing, `remedy` says what to do."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


class UsageError(AlluviumError):
    """An argument or an input that cannot work as given."""

    exit_code = 2


class ConfigurationError(UsageError):
    """A pipeline file, an environment file or a value in them is wrong."""


class SchemaMismatch(ConfigurationError):
    """Pipeline and table do not fit together: nothing was read."""


class UnclearKeys(ConfigurationError):
    """The table's rows cannot be told apart by the declared keys."""


class NotAllowed(ConfigurationError):
    """The cluster refuses what the pipeline's user asks for."""


class NotADeltaTable(UsageError):
    """The path holds no Delta table."""


class TopicMissing(UsageError):
    """The broker answers and has no such topic."""


class OutOfSpace(AlluviumError):
    """A file system is full: the table is as its last commit left it."""


class AccountingError(AlluviumError):
    """Rows and offsets do not add up: the batch is not committed."""


class CommitMismatch(AlluviumError):
    """The commit stands, and its own figures do not fit the rows that went in."""


class TooManyBadRecords(AlluviumError):
    """More records would be quarantined than the pipeline allows."""


class StateError(AlluviumError):
    """Table and topic disagree about where to go on: only the operator can decide."""


class SplitKeyError(StateError):
    """Events of one key stand in two partitions."""

    def __init__(self, partitions: tuple[tuple[str, int], tuple[str, int]], message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.partitions = partitions


class TryLater(AlluviumError):
    """The same command may work later: sysexits' EX_TEMPFAIL."""

    exit_code = 75


class BrokerUnreachable(TryLater):
    """No broker answered within the bound."""


class RegistryUnreachable(TryLater):
    """The schema registry gave no answer within the bound, or none that settles the question."""


class ConnectUnreachable(TryLater):
    """Kafka Connect gave no answer within the bound, or is busy with a rebalance."""


class DatabaseUnreachable(TryLater):
    """The source database gave no answer within the bound."""


class Locked(TryLater):
    """Another process works on the same table."""


def unbalanced(what: str) -> AccountingError:
    """Build the error for accounts of a batch that do not add up."""
    return AccountingError(
        f"the accounts of this batch do not balance: {what}",
        "nothing was committed; run it again, and report it if it repeats",
    )


def first_line(error: BaseException) -> str:
    """Return the first line of a foreign error, which fits into a message of ours."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def shortened(text: str, limit: int) -> str:
    """Cut a text to at most so many characters, at the end of a word, and mark it as cut."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    return f"{kept.rpartition(' ')[0].rstrip(' ,;:') or kept}…"
