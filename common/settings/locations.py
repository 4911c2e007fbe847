"""The place of a table or an input: a local path, a file: URI, or a URI of another file system."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from common.errors import NotADeltaTable, UsageError
from common.settings.remedies import CREATE, command

LOAD = "submit/temperatures_delta_processing.sh --pipeline PIPELINE INPUT_DIR DELTA_DIR"
GENERATOR = (".venv/bin/python", "-m", "datasets.temperatures")


@dataclass(frozen=True)
class Location:
    """A place as Spark gets it, `uri`, and as a path of this machine, `local`, if it is one."""

    uri: str
    local: Path | None

    def __str__(self) -> str:
        return self.uri if self.local is None else str(self.local)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.uri.rpartition("/")[2]


def location(text: str) -> Location:
    parsed = urlparse(text)
    if parsed.scheme in {"", "file"}:
        path = Path(unquote(parsed.path) if parsed.scheme else text).resolve()
        # Not Path.as_uri(): Hadoop takes a path as it stands, and %20 for three characters.
        return Location(f"file://{path}", path)
    return Location(text.rstrip("/"), None)


def side_table(table: Location, suffix: str) -> Location:
    """Return the place of a side table, which is named after its table: TABLE_quarantine, for example."""
    local = None if table.local is None else table.local.with_name(f"{table.local.name}{suffix}")
    return Location(f"{table.uri}{suffix}", local)


def require_parquet(folder: Location) -> None:
    """Refuse a wrong local input before Spark starts. Spark itself refuses a remote one."""
    if folder.local is None:
        return
    if not folder.local.is_dir():
        raise UsageError(f"no input folder {folder}", "give the folder that holds the base parquet files")
    made = f"{folder}/temperatures"
    if next(folder.local.rglob("*.parquet"), None) is None:
        raise UsageError(
            f"no parquet file in {folder}",
            f"correct the path, or make some with {command(shlex.join([*GENERATOR, made]))} and load {made}/base",
        )


def is_delta_table(table: Location) -> bool:
    """True where this machine sees a commit, without Spark. A failed load may leave an empty log behind."""
    return table.local is not None and next((table.local / "_delta_log").glob("*.json"), None) is not None


def require_delta_table(table: Location) -> None:
    if table.local is None or is_delta_table(table):
        return
    if foreign_files(table.local):
        raise NotADeltaTable(
            f"{table} is not a Delta table", "correct the path, or give the table a folder of its own, which is empty"
        )
    what = "is not a Delta table" if table.local.exists() else "does not exist"
    raise NotADeltaTable(
        f"{table} {what}",
        f"create an empty one with {command(CREATE)}, load one with {command(LOAD)}, or correct the path",
    )


def foreign_files(folder: Path) -> list[str]:
    """List the files where a table is to be made. A lock that a job left behind does not count."""
    if not folder.is_dir():
        return [folder.name] if folder.exists() else []
    return [entry.name for entry in folder.iterdir() if entry.name != "_alluvium"]
