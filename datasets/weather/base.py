"""The base: parquet files of whole years, as a lake would hold them before the stream begins."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.draws import Integers
from datasets.weather.climate import temperatures
from datasets.weather.extent import Extent, clock_times, year_start
from datasets.weather.places import Place

SCHEMA = pa.schema(
    [
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
        ("time", pa.string()),
        ("temperature_2m", pa.float64()),
    ]
)
# A year of a hundred places is what memory holds at once: 876,000 rows, one row group.
PLACES_PER_FILE = 100
# More years make longer files, not thousands of them.
MOST_SPANS = 16


def write_base(folder: Path, seed: int, places: Sequence[Place], extent: Extent) -> int:
    """Write the base, and return the number of files."""
    folder.mkdir()
    count = 0
    for span in _spans(extent.years):
        for first in range(0, len(places), PLACES_PER_FILE):
            some = places[first : first + PLACES_PER_FILE]
            path = folder / f"temperatures-{span[0]:04d}-{span[-1]:04d}-{first // PLACES_PER_FILE:04d}.parquet"
            with pq.ParquetWriter(path, SCHEMA) as file:
                for year in span:
                    file.write_table(_year(seed, some, year))
            count += 1
    return count


def _spans(years: range) -> Iterator[range]:
    length = max(1, len(years) // MOST_SPANS)
    return (years[first : first + length] for first in range(0, len(years), length))


def _year(seed: int, places: Sequence[Place], year: int) -> pa.Table:
    hours: Integers = np.arange(year_start(year), year_start(year + 1))
    tenths = temperatures(seed, places, hours)
    return pa.table(
        [
            np.repeat([place.latitude for place in places], len(hours)),
            np.repeat([place.longitude for place in places], len(hours)),
            _repeated(clock_times(hours), len(places)),
            tenths.ravel() / 10,
        ],
        schema=SCHEMA,
    )


def _repeated(texts: np.ndarray[tuple[int, ...], np.dtype[np.str_]], times: int) -> pa.Array:
    """Repeat the texts. Each is converted once and then referred to, because the conversion takes the time."""
    references = np.tile(np.arange(len(texts), dtype=np.int32), times)
    return pa.DictionaryArray.from_arrays(references, pa.array(texts, pa.string())).dictionary_decode()
