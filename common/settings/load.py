"""Read a pipeline's file, conf/pipelines/NAME.toml, once and whole; unknown and missing keys are errors."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from common.errors import ConfigurationError
from common.settings.base import Section
from common.settings.environment import pipelines_dir
from common.settings.pipeline import Pipeline, nearest

S = TypeVar("S", bound=Section)


def read_pipeline(name: str) -> Pipeline:
    """Read the pipeline called NAME, and validate it whole before Spark starts."""
    path = file_of(pipelines_dir(), "pipeline", name)
    return validated(Pipeline, {**read_toml(path), "name": name}, path)


def file_of(folder: Path, what: str, name: str) -> Path:
    """Find the file of a pipeline or a connector; an unknown name is told which there are."""
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.toml"))
        raise ConfigurationError(f"no {what} '{name}'", f"it would be {path}; there are: {', '.join(known)}")
    return path


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}", "correct the file") from error


def validated(model: type[S], content: dict[str, Any], path: Path) -> S:
    """Build a model from the content of its file."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error, model)}", "correct the file") from error


def first_problem(error: ValidationError, model: type[Section]) -> str:
    """Describe the first problem by its path in the file; for an unknown key also name the nearest valid one."""
    # A misspelt key is also a missing one: name the misspelling.
    problem = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{where}'{nearest(str(problem['loc'][-1]), valid_keys(problem['loc'][:-1], model))}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def valid_keys(path: tuple[int | str, ...], model: Any) -> list[str]:
    for part in path:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = next((each for each in get_args(annotation) if hasattr(each, "model_fields")), annotation)
    # The name of a file does not stand in it.
    return [key for key in model.model_fields if key != "name" or path]
