"""Pipelines are files: conf/pipelines/NAME.toml, read once into frozen models; unknown and missing keys are errors."""

import difflib
import re
import tomllib
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from common.errors import ConfigurationError
from common.settings.environment import pipelines_dir

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def identifier(name: str) -> str:
    """Names from a file end up in SQL: letters, digits and underscores only, and quoted all the same."""
    if IDENTIFIER.fullmatch(name) is None:
        raise ValueError("a column is named with letters, digits and underscores")
    return name


Column = Annotated[str, AfterValidator(identifier)]


class Section(BaseModel):
    """What every part of a pipeline file has in common: no key beyond the declared ones, no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(Section):
    """Where events come from, and their form."""

    topic: str
    brokers: str = "localhost:9092"
    format: Literal["json"] = "json"
    columns: dict[Column, str] = Field(min_length=1)
    max_records_per_batch: int = Field(default=100_000, ge=1)


class Target(Section):
    """The Delta table that events settle in."""

    keys: list[Column] = Field(min_length=1)
    sequence: Literal["position"] = "position"
    derived: dict[Column, str] = {}
    partition_by: list[Column] = []
    properties: dict[str, str] = {}


class Pipeline(Section):
    """One pipeline file."""

    name: Column
    source: Source
    target: Target

    @model_validator(mode="after")
    def columns_exist(self) -> Self:
        known = self.columns
        for part, names in (("keys", self.target.keys), ("partition_by", self.target.partition_by)):
            for name in names:
                if name not in known:
                    raise ValueError(f"target.{part}: no column '{name}'{nearest(name, known)}")
        return self

    @property
    def columns(self) -> list[str]:
        """The table's columns: the events' own, then the derived ones."""
        return [*self.source.columns, *self.target.derived]


def nearest(name: str, known: list[str]) -> str:
    match = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{match[0]}'?" if match else f"; known: {', '.join(known)}"


def read_pipeline(name: str) -> Pipeline:
    """The pipeline called NAME, validated whole before Spark starts."""
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
        return Pipeline.model_validate({"name": name, **content})
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error)}", "correct the file") from error


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong, by its path in the file; for an unknown key also the nearest valid one."""
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
        model = model.model_fields[part].annotation
    return [key for key in model.model_fields if key != "name"]
