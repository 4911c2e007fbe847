"""Find a pipeline's table by `target.path`: commands may leave the folder out, and the shell has names."""

from common.errors import UsageError
from common.settings.environment import home, pipelines_dir
from common.settings.load import read_pipeline
from common.settings.locations import Location, location
from common.settings.pipeline import Pipeline


def table_of(pipeline: Pipeline) -> Location | None:
    """Return the place in `target.path`. A relative path starts at the project's folder, not at the current one."""
    path = pipeline.target.path
    if path is None:
        return None
    return location(path if "://" in path or path.startswith("/") else str(home() / path))


def chosen_table(delta_dir: str | None, name: str | None) -> Location:
    """Return the given folder, or else the folder of the named pipeline."""
    if delta_dir is not None:
        return location(delta_dir)
    if name is None:
        raise UsageError("no table", "say DELTA_DIR, or --pipeline with a file that has target.path")
    table = table_of(read_pipeline(name))
    if table is None:
        raise UsageError(f"pipeline '{name}' does not say where its table lies", "say DELTA_DIR, or add target.path")
    return table


def named_tables() -> dict[str, Location]:
    """Return the table of every pipeline that has a path, by the table's name."""
    pipelines = [read_pipeline(file.stem) for file in sorted(pipelines_dir().glob("*.toml"))]
    tables = [(pipeline.target.table_name, table_of(pipeline)) for pipeline in pipelines]
    return {name: table for name, table in tables if name is not None and table is not None}
