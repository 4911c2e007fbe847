"""The base of each part of a pipeline file: strict, frozen models, names of columns, and secrets by reference."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from common.durations import duration
from common.settings.kinds import IDENTIFIER
from common.settings.secrets import reference


def identifier(name: str) -> str:
    """Refuse other characters than letters, digits and underscores, because names from a file end up in SQL."""
    if IDENTIFIER.fullmatch(name) is None:
        raise ValueError("a column is named with letters, digits and underscores")
    return name


Column = Annotated[str, AfterValidator(identifier)]
Duration = Annotated[str, AfterValidator(duration)]
Secret = Annotated[str, AfterValidator(reference)]


class Section(BaseModel):
    """The base of every part of a pipeline file: no key beyond the declared ones, no change after reading."""

    # The input is hidden because it may be a secret that was written where a reference belongs.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)
