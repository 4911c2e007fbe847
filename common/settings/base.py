"""The base of each part of a pipeline file: strict, frozen models, and secrets by reference."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from common.settings.secrets import reference

Secret = Annotated[str, AfterValidator(reference)]


class Section(BaseModel):
    """The base of every part of a pipeline file: no key beyond the declared ones, no change after reading."""

    # The input is hidden because it may be a secret that was written where a reference belongs.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)
