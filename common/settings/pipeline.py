"""A pipeline as its file declares it: frozen models, and what must hold between their parts."""

import difflib
from collections.abc import Mapping
from functools import cached_property
from typing import Self

from pydantic import model_validator

from common.settings.base import Column, Section
from common.settings.kinds import PLAIN, is_plain
from common.settings.quality import Late, Quality
from common.settings.source import Source
from common.settings.target import POSITION, Target

# The kinds by which Delta skips files with certainty: no NaN, no scale that a literal could miss.
PRUNABLE = ("int", "bigint", "date", "timestamp", "string")


class Pipeline(Section):
    """One pipeline file."""

    name: Column
    """The name of the file, without `.toml`. It does not stand in the file."""
    source: Source
    """The topic of the events, and their form."""
    target: Target
    """The table that events settle in."""
    quality: Quality = Quality()
    """The rules that events have to meet."""
    late: Late | None = None
    """The bounds for events that are too old, or too far in the future."""

    @model_validator(mode="after")
    def columns_exist(self) -> Self:
        refuse_ambiguous(self)
        known = self.columns
        named = {
            f"target.{part}": getattr(self.target, part) for part in ("keys", "partition_by", "immutable", "prune_by")
        }
        if self.target.sequence != POSITION:
            named["target.sequence"] = [self.target.sequence]
        if self.late is not None:
            named["late.column"] = [self.late.column]
        for part, names in named.items():
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{part}: '{name}' stands there twice")
                if name not in known:
                    raise ValueError(f"{part}: no column '{name}'{nearest(name, known)}")
        refuse_nested(self, named)
        refuse_unclear_deletes(self)
        refuse_unsound_pruning(self)
        return self

    def __hash__(self) -> int:
        """Hash by the name, because equal pipelines have equal names. So results can be cached by pipeline."""
        return hash(self.name)

    @cached_property
    def columns(self) -> list[str]:
        """The table's columns: the events' own, then the derived ones."""
        return [*self.source.columns, *self.target.derived]

    @cached_property
    def deletes(self) -> bool:
        """True where a record without a value deletes the row of its key."""
        return self.source.null_value == "delete"


def refuse_unclear_deletes(pipeline: Pipeline) -> None:
    """Refuse deletes where a tombstone's message key and place are not enough to find and to order the row."""
    if not pipeline.deletes:
        return
    if pipeline.target.sequence != POSITION:
        raise ValueError(
            f"source.null_value: 'delete' needs target.sequence = '{POSITION}', because a record without a value "
            f"has no '{pipeline.target.sequence}'"
        )
    derived = [key for key in pipeline.target.keys if key in pipeline.target.derived]
    if derived:
        raise ValueError(
            f"source.null_value: 'delete' finds the row by the message key, and key '{derived[0]}' is derived; "
            "let target.keys name columns of source.columns only"
        )


def refuse_nested(pipeline: Pipeline, named: Mapping[str, list[str]]) -> None:
    """Refuse nested columns where rows are found, ordered, partitioned or pruned, because that takes a plain value."""
    for part, names in named.items():
        for name in names:
            kind = pipeline.source.columns.get(name)
            if part != "target.immutable" and kind is not None and not is_plain(kind):
                raise ValueError(f"{part}: '{name}' is {kind}; name a column of {', '.join(PLAIN)}")


def refuse_unsound_pruning(pipeline: Pipeline) -> None:
    """Refuse to prune by a column that may change for a key: the MERGE would miss its row, and insert a second."""
    target = pipeline.target
    for name in target.prune_by:
        if name not in {*target.keys, *target.immutable}:
            raise ValueError(
                f"target.prune_by: '{name}' is not a key; list it in target.immutable if it never changes for a key"
            )
        kind = pipeline.source.columns.get(name)
        if kind is not None and kind not in PRUNABLE:
            raise ValueError(f"target.prune_by: '{name}' is {kind}; columns to prune by are {', '.join(PRUNABLE)}")


def refuse_ambiguous(pipeline: Pipeline) -> None:
    """Refuse names that would mean two things: Spark ignores their case, and the engine has columns of its own."""
    seen: set[str] = set()
    for name in pipeline.columns:
        if name.lower() in seen:
            raise ValueError(f"column '{name}' is declared twice")
        if name.startswith("_"):
            raise ValueError(f"column '{name}': names that begin with an underscore are the engine's own")
        seen.add(name.lower())
    if POSITION in seen and pipeline.target.sequence == POSITION:
        raise ValueError(f"target.sequence: '{POSITION}' is the place in the topic, and a column has the same name")


def nearest(name: str, known: list[str]) -> str:
    match = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{match[0]}'?" if match else f"; known: {', '.join(known)}"
