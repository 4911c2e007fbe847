"""Where a pipeline's table lies, by its own file: commands may leave the folder out, and the shell has names."""

from common.errors import UsageError
from common.settings.environment import home, pipelines_dir
from common.settings.locations import Location, location
from common.settings.pipeline import Pipeline, read_pipeline


def table_of(pipeline: Pipeline) -> Location | None:
    """A relative path is relative to the project's folder, wherever the command was typed."""
    path = pipeline.target.path
    if path is None:
        return None
    return location(path if "://" in path or path.startswith("/") else str(home() / path))


def chosen_table(delta_dir: str | None, name: str | None) -> Location:
    """The folder that was said, or else that of the pipeline that was named."""
    if delta_dir is not None:
        return location(delta_dir)
    if name is None:
        raise UsageError("no table", "say DELTA_DIR, or --pipeline with a file that has target.path")
    found = table_of(read_pipeline(name))
    if found is None:
        raise UsageError(f"pipeline '{name}' does not say where its table lies", "say DELTA_DIR, or add target.path")
    return found


def named_tables() -> dict[str, Location]:
    """Every pipeline's table that has a path, by its name."""
    pipelines = [read_pipeline(file.stem) for file in sorted(pipelines_dir().glob("*.toml"))]
    found = [(pipeline.target.table_name, table_of(pipeline)) for pipeline in pipelines]
    return {name: table for name, table in found if name is not None and table is not None}
