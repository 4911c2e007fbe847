"""What the parts of a pipeline file are made of: strict, frozen models, and secrets by reference."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from common.settings.secrets import reference

Secret = Annotated[str, AfterValidator(reference)]


class Section(BaseModel):
    """What every part of a pipeline file has in common: no key beyond the declared ones, no change after reading."""

    # The input is hidden because it may be a secret that was written where a reference belongs.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)
