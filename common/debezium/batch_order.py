"""The order of all events of a batch at once, on Arrow: `order` says what it means for one key."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.debezium.order import NONE

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def batch_barriers(groups: pa.Array, offsets: pa.Array, domains: pa.Array) -> pa.Array:
    """Give each event its barrier, as `order.with_barriers` does. `groups` numbers key and partition of each event."""
    order = np.lexsort((as_numbers(offsets), as_numbers(groups)))
    group, offset = as_numbers(groups)[order], as_numbers(offsets)[order]
    domain = as_numbers(pc.fill_null(pc.dictionary_encode(domains).indices, NONE))[order]
    follows = np.concatenate(([False], group[1:] == group[:-1]))
    last = np.concatenate(([NONE], domain[:-1]))
    begins = (domain == NONE) | (follows & (last != NONE) & (last != domain))
    # The place of the newest barrier so far, and of the group's first event: an older barrier is of another group.
    places = np.arange(len(group))
    newest = np.maximum.accumulate(np.where(begins, places, NONE)) if len(group) else places
    first = np.maximum.accumulate(np.where(follows, NONE, places)) if len(group) else places
    barriers = np.full(len(group), NONE, np.int64)
    barriers[order] = np.where((newest >= first) & (newest != NONE), offset[newest], NONE)
    return pa.array(barriers)


def newest_indices(
    groups: pa.Array, barriers: pa.Array, commits: pa.Array, rows: pa.Array, offsets: pa.Array
) -> pa.Array:
    """Return the index of the newest event of each group, as `order.newest` chooses it."""
    ranks = [as_numbers(each) for each in (offsets, rows, commits, barriers, groups)]
    order = np.lexsort(ranks)
    group = ranks[-1][order]
    is_last = np.concatenate((group[1:] != group[:-1], [True])) if len(group) else np.zeros(0, bool)
    return pa.array(order[is_last])


def as_numbers(column: pa.Array) -> Numbers:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)
