"""Keep the newest event of each key: it is merged, and the others of a batch are folded into it.

The ordering column decides. Of equal values the first one is kept, as across batches, where only a greater value
replaces a row: the result must not depend on where a batch ended.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from common.model.disposition import DISPOSITION, FOLDED, MERGE
from common.model.record import partition_numbers, record_field
from common.rules.compare import aggregate, sortable


def deduplicate(rows: pa.Table, keys: Sequence[str], ordering: str | None) -> pa.Table:
    """Change the disposition of every row but the newest of its key from MERGE to FOLDED."""
    dispositions = rows[DISPOSITION].combine_chunks()
    competes = pc.is_in(dispositions, pa.array([MERGE]))
    rivals = rows.filter(competes)
    newest_first = newest_first_indices(rivals, ordering)
    ranks = np.empty_like(newest_first)
    ranks[newest_first] = np.arange(len(newest_first))
    columns = {**{key: sortable(rivals[key]) for key in keys}, "_rank": ranks}
    best = aggregate(columns, keys, {"_best": ("_rank", "min")})
    is_newest = np.zeros(len(newest_first), dtype=bool)
    is_newest[newest_first[best["_best"].to_numpy()]] = True
    merge, folded = (pa.scalar(value, dispositions.type) for value in (MERGE, FOLDED))
    decided = pc.replace_with_mask(dispositions, competes, pc.if_else(pa.array(is_newest), merge, folded))
    return rows.set_column(rows.schema.get_field_index(DISPOSITION), DISPOSITION, decided)


def newest_first_indices(rows: pa.Table, ordering: str | None) -> npt.NDArray[np.uint64]:
    """Row indices, newest first. Without an ordering column the greatest offset is the newest."""
    numbers, _ = partition_numbers(rows)
    columns = {"_offset": record_field(rows, "offset"), "_partition": numbers}
    order = [("_offset", "ascending"), ("_partition", "ascending")]
    if ordering is None:
        order = [("_offset", "descending")]
    else:
        columns["_ordering"] = sortable(rows[ordering])
        order.insert(0, ("_ordering", "descending"))
    indices: npt.NDArray[np.uint64] = pc.sort_indices(pa.table(columns), order).to_numpy()
    return indices
