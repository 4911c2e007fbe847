"""The text of one member of a JSON object, exactly as it was sent: spaces, number spelling, order and escapes.

Spark's own functions write such a text anew, and 1.50 becomes 1.5. So the record's text is cut at its brackets, and the
pieces that belong to the member are put together again. It is only asked of texts that are JSON.
"""

from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F

STRING = r'"(?:[^"\\]|\\.)*+"'
# Up to the next bracket that is not inside of a string, and with it. Possessive: nothing is tried twice.
PIECE = rf'(?:[^"\[\]{{}}]|{STRING})*+[\[\]{{}}]'
PLAIN_VALUE = rf'{STRING}|[^\s,{{}}\[\]"]++'


PIECES = "_pieces"


def span_column(name: str) -> str:
    return f"_span_{name}"


@cache
def pieces(text: str) -> Column:
    return F.regexp_extract_all(F.col(text), F.lit(PIECE), F.lit(0))


@cache
def span(name: str) -> Column:
    """Which of the pieces this member of the outermost object takes, by their places: the one with its name, the one
    that ends it, and how many levels are nested in it."""

    def step(so_far: Column, piece: Column) -> Column:
        place, depth, begins, ends = (so_far[each] for each in ("place", "depth", "begins", "ends"))
        after = F.when(F.substring(piece, -1, 1).isin("{", "["), depth + 1).otherwise(depth - 1)
        is_here = (begins == 0) & (depth == 1) & piece.rlike(named(name))
        is_plain = is_here & ~piece.rlike(opening(name))
        is_end = is_plain | ((begins > 0) & (ends == 0) & (after == 1))
        is_inside = ((begins > 0) | is_here) & (ends == 0) & ~is_plain
        return F.struct(
            (place + 1).alias("place"),
            after.alias("depth"),
            F.when(is_here, place).otherwise(begins).alias("begins"),
            F.when(is_end, place).otherwise(ends).alias("ends"),
            F.when(is_inside, F.greatest(so_far["levels"], after - 1)).otherwise(so_far["levels"]).alias("levels"),
        )

    start = {"place": 1, "depth": 0, "begins": 0, "ends": 0, "levels": 0}
    return F.aggregate(PIECES, F.struct(*(F.lit(number).alias(each) for each, number in start.items())), step)


@cache
def own_text(name: str) -> Column:
    """The member's text, null where the object has no such member."""
    held, found = F.col(PIECES), F.col(span_column(name))
    first = F.get(held, found["begins"] - 1)
    rest = F.slice(held, found["begins"] + 1, F.greatest(found["ends"] - found["begins"], F.lit(0)))
    nested = F.concat(F.substring(first, -1, 1), F.array_join(rest, ""))
    plain = F.regexp_extract(first, rf"{named(name)}({PLAIN_VALUE})", 1)
    return F.when(found["begins"] > 0, F.when(first.rlike(opening(name)), nested).otherwise(plain))


def named(name: str) -> str:
    """A member's name before its value, each character perhaps escaped. A quote inside of a string is always escaped,
    so this cannot match there."""
    spelled = "".join(rf"(?:{char}|\\u(?i:{ord(char):04x}))" for char in name)
    return rf'(?:^|,)\s*"{spelled}"\s*:\s*'


def opening(name: str) -> str:
    """The same before an array or an object."""
    return rf"{named(name)}[\[{{]\z"
