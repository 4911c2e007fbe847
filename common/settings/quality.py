"""The sections [quality] and [late]: which events are turned away."""

from typing import Literal

from pydantic import Field

from common.settings.base import Column, Duration, Section


class Rule(Section):
    """What every event must fulfil, as an SQL condition that the pipeline's owner writes on purpose."""

    name: Column
    """What the rule is called: its records are quarantined as `RULE_NAME`.

    Example: name = "plausible_weight"
    """
    check: str
    """An SQL condition on the columns, derived ones too. Who does not fulfil it is quarantined.

    Example: check = "weight > 0"
    """


class Quality(Section):
    """When an event is turned away, and when so many are that the pipeline stops instead."""

    rules: list[Rule] = Field(default_factory=list)
    """What every event must fulfil."""
    max_bad_ratio: float = Field(default=1.0, ge=0, le=1)
    """The share of a batch that may be quarantined. Beyond it nothing is written and the job fails.

    Example: max_bad_ratio = 0.1
    """


class Late(Section):
    """Events too old or too far in the future, by an event column against the record's own timestamp."""

    column: Column
    """The column with the event's own time: a timestamp, a text that is one, or a number of seconds since 1970.

    Example: column = "scanned_at"
    """
    bound: Duration | None = None
    """An event that is older than its record by more than this is late. Without it none is.

    Example: bound = "30d"
    """
    action: Literal["discard", "keep"] = "discard"
    """What becomes of a late event, which is not merged: it is only counted, or kept in the table DELTA_DIR_late, too.

    Example: action = "keep"
    """
    future_bound: Duration | None = None
    """An event that is ahead of its record by more than this is quarantined as `FUTURE`. Without it none is.

    Example: future_bound = "1h"
    """
