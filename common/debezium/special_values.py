"""Values for which Delta has no form, and what becomes of them."""

from enum import StrEnum
from typing import Any

from common.debezium.conversions import Conversion
from common.debezium.rejection import Reason, Rejected
from common.errors import shortened

SHOWN = 60


class SpecialValues(StrEnum):
    """What becomes of a value for which Delta has no form: infinity, NaN, a year outside of 0001 to 9999."""

    QUARANTINE = "quarantine"
    NULL = "null"
    # To the nearest value that Delta has; NaN has none and is null.
    CLAMP = "clamp"


class NoForm(Exception):
    """A value that Delta has no form for. `nearest` is the least or the greatest value, None where there is none."""

    def __init__(self, value: Any, nearest: Any = None) -> None:
        super().__init__(value)
        self.value, self.nearest = value, nearest

    def resolved(self, conversion: Conversion, special: SpecialValues) -> Any:
        if special is SpecialValues.NULL:
            return None
        if special is SpecialValues.CLAMP:
            return self.nearest
        raise unfit(conversion, self.value)


def unfit(conversion: Conversion, value: Any) -> Rejected:
    """Build the rejection of a value that the conversion cannot take."""
    shown = shortened(repr(value), SHOWN)
    return Rejected(Reason.UNREPRESENTABLE, f"the value {shown} has no form as {conversion.delta} ({conversion.how})")
