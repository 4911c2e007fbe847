"""Read a pipeline's file, conf/pipelines/NAME.toml, once and whole; unknown and missing keys are errors."""

import tomllib
from typing import Any, get_args

from pydantic import ValidationError

from common.errors import ConfigurationError
from common.settings.environment import pipelines_dir
from common.settings.pipeline import Pipeline, nearest


def read_pipeline(name: str) -> Pipeline:
    """Read the pipeline called NAME, and validate it whole before Spark starts."""
    folder = pipelines_dir()
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.toml"))
        raise ConfigurationError(f"no pipeline '{name}'", f"it would be {path}; there are: {', '.join(known)}")
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}", "correct the file") from error
    try:
        return Pipeline.model_validate({**content, "name": name})
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error)}", "correct the file") from error


def first_problem(error: ValidationError) -> str:
    """Describe the first problem by its path in the file; for an unknown key also name the nearest valid one."""
    # A misspelt key is also a missing one: name the misspelling.
    problem = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{where}'{nearest(str(problem['loc'][-1]), valid_keys(problem['loc'][:-1]))}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def valid_keys(path: tuple[int | str, ...]) -> list[str]:
    model: Any = Pipeline
    for part in path:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = next((each for each in get_args(annotation) if hasattr(each, "model_fields")), annotation)
    return [key for key in model.model_fields if key != "name" or model is not Pipeline]
