"""The tables that cells begin with: made once, kept under var/bench, and copied for each contender by hard links."""

import hashlib
import json
import os
import shutil
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from common.operations.base_load import load_base
from common.settings.locations import Location, location
from common.settings.pipeline import Pipeline
from datasets.directory import MANIFEST, is_made_of, read_manifest, written_whole
from datasets.weather.base import write_base
from datasets.weather.extent import extent
from datasets.weather.places import places
from tests.bench.batches import SEED
from tests.bench.cells import Base, Layout
from tests.bench.digest import Digest, digest_of
from tests.support.commands import ROOT

PIPELINE = ROOT / "conf" / "pipelines" / "temperatures.toml"
# What decides a base table's bytes besides its parameters.
MAKERS = (PIPELINE, ROOT / "common" / "operations" / "base_load.py", Path(__file__))
# Of disk for each 210,384 rows: the parquet files, a Delta and an Iceberg table of them, and what merges add.
BYTES_A_SCALE = 10_000_000
CLUSTERED_BY = "time, latitude, longitude"
# Small, so that a table of a hundred megabytes has files to leave unread.
CLUSTERED_FILE_BYTES = 1_048_576


def pipeline(layout: Layout) -> Pipeline:
    """The project's own, for tables of another layout as well."""
    content = tomllib.loads(PIPELINE.read_text())
    target = {
        **content["target"],
        "partition_by": ["month"] if layout == "partitioned" else [],
        "prune_by": ["month", "time"],
        "immutable": ["month"],
    }
    return Pipeline.model_validate({**content, "target": target, "name": "temperatures"})


@dataclass(frozen=True)
class DeltaBase:
    """A table that nobody writes to, and what it holds."""

    base: Base
    path: Path
    digest: Digest


class Bases:
    """The base tables under one folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder

    def delta(self, base: Base) -> DeltaBase:
        """Loaded by the engine's own base load; afterwards clustered, where the layout says so."""
        folder = self._folder / "tables" / base.name
        made_of = {**asdict(base), "makers": makers()}
        if not is_made_of(folder, made_of):
            parquet = self._parquet(base)
            with written_whole(folder) as partial:
                table = location(str(partial / "table"))
                load_base(self._spark, pipeline(base.layout), parquet, table, overwrite=False)
                cluster(self._spark, table.uri, base.layout)
                held = digest_of(self._spark.read.format("delta").load(table.uri))
                (partial / MANIFEST).write_text(json.dumps({**made_of, "digest": asdict(held)}))
        manifest = read_manifest(folder)
        assert manifest is not None
        return DeltaBase(base, folder / "table", Digest(**manifest["digest"]))  # type: ignore[arg-type]

    def _parquet(self, base: Base) -> Location:
        folder = self._folder / "datasets" / base.size
        made_of = {"scale": base.scale, "size": base.size, "seed": SEED}
        if not is_made_of(folder, made_of):
            size = extent(base.scale, base.grow)
            with written_whole(folder) as partial:
                write_base(partial / "base", SEED, places(size.place_count, SEED), size)
                (partial / MANIFEST).write_text(json.dumps(made_of))
        return location(str(folder / "base"))


def has_room(folder: Path, base: Base) -> bool:
    return shutil.disk_usage(folder).free > base.scale * BYTES_A_SCALE


def makers() -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in MAKERS)).hexdigest()


def cluster(spark: SparkSession, table: str, layout: Layout) -> None:
    if layout not in {"zordered", "liquid"}:
        return
    session = spark.newSession()
    session.conf.set("spark.databricks.delta.optimize.maxFileSize", CLUSTERED_FILE_BYTES)
    if layout == "liquid":
        session.sql(f"ALTER TABLE delta.`{table}` CLUSTER BY ({CLUSTERED_BY})")
        session.sql(f"OPTIMIZE delta.`{table}`")
    else:
        session.sql(f"OPTIMIZE delta.`{table}` ZORDER BY ({CLUSTERED_BY})")


def copy_delta(base: DeltaBase, target: Path) -> Path:
    """A table of one's own: data files never change, so they are linked; the log is copied."""
    own = shutil.ignore_patterns("_delta_log", "_alluvium")
    shutil.copytree(base.path, target, copy_function=os.link, ignore=own)
    for folder in ("_delta_log", "_alluvium"):
        shutil.copytree(base.path / folder, target / folder)
    return target


def forget_properties(spark: SparkSession, table: Path, layout: Layout) -> None:
    """A table as others would have made it: without the properties that our pipeline gives to its own."""
    names = ", ".join(f"'{name}'" for name in pipeline(layout).target.properties)
    if names:
        spark.sql(f"ALTER TABLE delta.`{table}` UNSET TBLPROPERTIES IF EXISTS ({names})")
