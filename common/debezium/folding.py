"""How several changes of a batch become one for each key, column by column.

A value that a change does not know because it was not sent is that of the change before, of the row under the key that
it had before, or of the table.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from common.debezium.changes import Change, ChangeKind, Row
from common.debezium.rejection import Reason, Rejected

Key = tuple[tuple[str, object], ...]


@dataclass
class FoldedBatch:
    """What a batch does to its table: nothing is left of the rows before it if it is truncated."""

    is_truncated: bool = False
    changes: dict[Key, Change] = field(default_factory=dict)


def fold_batch(changes: Iterable[Change]) -> FoldedBatch:
    """Fold the changes of a batch, which come in their order, newest last."""
    batch = FoldedBatch()
    # Rows as they were when their key was changed.
    moved: dict[Key, Change] = {}
    for change in changes:
        if change.kind is ChangeKind.TRUNCATE:
            batch, moved = FoldedBatch(is_truncated=True), {}
        if change.kind not in {ChangeKind.UPSERT, ChangeKind.DELETE} or change.key is None:
            continue
        key = key_of(change.key)
        older = batch.changes.get(key)
        if change.moved_to is not None and older is not None:
            moved[key] = older
        if change.moved_from is not None:
            change = from_old_key(change, moved.get(key_of(change.moved_from)), batch)  # noqa: PLW2901
        batch.changes[key] = change if older is None else fold(older, change)
    return batch


def key_of(key: Row) -> Key:
    return tuple(sorted(key.items()))


def from_old_key(change: Change, moved: Change | None, batch: FoldedBatch) -> Change:
    """Take what was not sent from the row of the old key, as far as this batch has it.

    The delete of the old key may be in another partition and come later: then its row stands in the batch as it is.
    """
    source = moved or batch.changes.get(key_of(change.moved_from or {}))
    return change if source is None or source.kind is not ChangeKind.UPSERT else known_from(source, change)


def fold(older: Change, newer: Change) -> Change:
    """Join two changes of one key into one that does what both do in turn."""
    if newer.kind is not ChangeKind.UPSERT or not newer.unchanged or newer.moved_from is not None:
        return newer
    if older.kind is ChangeKind.DELETE:
        # The row began anew: what the table has under this key is of another row.
        return without_source(newer)
    return known_from(older, newer)


def known_from(source: Change, change: Change) -> Change:
    """Fill what a change does not know with what another one knows. The rest is found where that one would find it."""
    known = {name: value for name, value in (source.values or {}).items() if name in change.unchanged}
    return replace(
        change,
        values={**(change.values or {}), **known},
        unchanged=change.unchanged - known.keys(),
        moved_from=source.moved_from or change.moved_from,
    )


def filled(change: Change, row: Row | None, moved: Row | None = None) -> Change:
    """Fill what a change does not know from the table: from the row of its key, or of the key that it had before."""
    if not change.unchanged:
        return change
    source = moved if change.moved_from is not None else row
    if source is None:
        return without_source(change)
    known = {name: source[name] for name in change.unchanged}
    return replace(change, values={**(change.values or {}), **known}, unchanged=frozenset())


def without_source(change: Change) -> Change:
    """Reject a row with values that nobody has sent."""
    names = ", ".join(sorted(change.unchanged))
    raise Rejected(
        Reason.UNKNOWN_UNCHANGED,
        f"the value of {names} was not sent and no earlier row has it: ALTER TABLE … REPLICA IDENTITY FULL, then an "
        "incremental snapshot of the table",
    )
