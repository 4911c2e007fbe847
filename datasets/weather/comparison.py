"""Compare a Delta table with an expectation, by delta-rs: a reader that shares no code with the writer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from common.errors import NotADeltaTable
from datasets.draws import Floats
from datasets.weather.expectation import UNKNOWN, Expectation, Kind


@dataclass
class Held:
    """The rows of the table: for each key their number and the last value, and those of no known key."""

    count: npt.NDArray[np.int64]
    value: Floats
    strangers: int = 0
    first_stranger: str = ""
    rows: int = 0


@dataclass(frozen=True)
class Comparison:
    """The `right` and the `expected` keys of each kind, and the number of `wrong` rows and keys."""

    rows: int
    right: dict[Kind, int]
    expected: dict[Kind, int]
    wrong: int
    first_wrong: str = field(default="")


def read_rows(delta_dir: str) -> Iterator[pa.Table]:
    """Yield the key and the value of every row, a batch at a time."""
    try:
        query = QueryBuilder().register("t", DeltaTable(delta_dir))
        found = query.execute("select latitude, longitude, time, temperature_2m from t")
        for batch in pa.RecordBatchReader.from_stream(found):
            yield pa.Table.from_batches([batch])
    except TableNotFoundError as error:
        raise NotADeltaTable(f"{delta_dir} is not a Delta table", "load the base first") from error
    except DeltaError as error:
        reason = str(error).strip().splitlines()[0]
        raise NotADeltaTable(f"{delta_dir} cannot be read as temperatures ({reason})", "check the path") from error


def compare(expected: Expectation, tables: Iterable[pa.Table]) -> Comparison:
    held = _collect(expected, tables)
    right = (held.count == 1) & (held.value == expected.value)
    wrong_cells = np.flatnonzero(~right)
    first = _describe(expected, held, int(wrong_cells[0])) if len(wrong_cells) else held.first_stranger
    return Comparison(
        held.rows,
        {kind: int(np.sum(right & (expected.kind == kind))) for kind in Kind},
        {kind: int(np.sum(expected.kind == kind)) for kind in Kind},
        len(wrong_cells) + held.strangers,
        first,
    )


def _collect(expected: Expectation, tables: Iterable[pa.Table]) -> Held:
    held = Held(np.zeros(len(expected.keys), dtype=np.int64), np.full(len(expected.keys), np.nan))
    for rows in tables:
        cells = expected.keys.cells(rows)
        strange = cells == UNKNOWN
        if strange.any() and not held.strangers:
            held.first_stranger = _describe_stranger(rows, int(np.argmax(strange)))
        held.strangers += int(strange.sum())
        held.rows += len(rows)
        held.value[cells[~strange]] = np.asarray(rows["temperature_2m"], dtype=np.float64)[~strange]
        np.add.at(held.count, cells[~strange], 1)
    return held


def _describe(expected: Expectation, held: Held, cell: int) -> str:
    key = f"the {Kind(expected.kind[cell]).name.lower()} hour {expected.keys.name(cell)}"
    if held.count[cell] == 0:
        return f"{key} is missing"
    if held.count[cell] > 1:
        return f"{key} is there {held.count[cell]} times"
    return f"{key} holds {held.value[cell]}, not {expected.value[cell]}"


def _describe_stranger(rows: pa.Table, index: int) -> str:
    latitude, longitude, time = (rows[name][index] for name in ("latitude", "longitude", "time"))
    return f"the row {time} at {latitude}, {longitude} is neither of the base nor of the stream"
