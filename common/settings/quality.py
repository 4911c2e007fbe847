"""The sections [quality] and [late]: which events are turned away."""

from typing import Literal

from pydantic import Field

from common.settings.base import Column, Duration, Section


class Rule(Section):
    """A rule that every event has to meet, as an SQL condition."""

    name: Column
    """The name of the rule: records that break it are quarantined as `RULE_NAME`.

    Example: name = "plausible_weight"
    """
    check: str
    """An SQL condition on the columns, derived ones too. An event for which it is false is quarantined.

    Example: check = "weight > 0"
    """


class Quality(Section):
    """The rules that events have to meet, and the share of bad records at which the job stops."""

    rules: list[Rule] = Field(default_factory=list)
    """The rules that every event has to meet."""
    max_bad_ratio: float = Field(default=1.0, ge=0, le=1)
    """The share of a batch that may be quarantined. Beyond it nothing is written and the job fails.

    Example: max_bad_ratio = 0.1
    """


class Late(Section):
    """Bounds for an event that is too old or too far in the future, by its own time against the record's timestamp."""

    column: Column
    """The column with the event's own time: a timestamp, a text that is one, or a number of seconds since 1970.

    Example: column = "scanned_at"
    """
    bound: Duration | None = None
    """An event that is older than its record by more than this is late. Without it none is.

    Example: bound = "30d"
    """
    action: Literal["discard", "keep"] = "discard"
    """The treatment of a late event, which is not merged: `discard` only counts it, `keep` also writes it to the table
    DELTA_DIR_late.

    Example: action = "keep"
    """
    future_bound: Duration | None = None
    """An event that is ahead of its record by more than this is quarantined as `FUTURE`. Without it none is.

    Example: future_bound = "1h"
    """
