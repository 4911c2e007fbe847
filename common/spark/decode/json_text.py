"""Cut the text of one member out of a JSON object, exactly as it was sent: spaces, numbers, order and escapes.

Spark's own functions write such a text anew, and 1.50 becomes 1.5. So the record's text is cut at its brackets, and the
pieces that belong to the member are put together again. The text has to be valid JSON.
"""

from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F

STRING = r'"(?:[^"\\]|\\.)*+"'
# The text up to the next bracket that is not inside of a string, with the bracket. Possessive: nothing is tried twice.
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
    """Find the pieces of this member of the outermost object.

    The struct has the place of the piece with the member's name, the place of the piece that ends it, and how many
    levels are nested in it.
    """

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
    """Return the member's text; null where the object has no such member."""
    parts, member = F.col(PIECES), F.col(span_column(name))
    first = F.get(parts, member["begins"] - 1)
    rest = F.slice(parts, member["begins"] + 1, F.greatest(member["ends"] - member["begins"], F.lit(0)))
    nested = F.concat(F.substring(first, -1, 1), F.array_join(rest, ""))
    plain = F.regexp_extract(first, rf"{named(name)}({PLAIN_VALUE})", 1)
    return F.when(member["begins"] > 0, F.when(first.rlike(opening(name)), nested).otherwise(plain))


def named(name: str) -> str:
    """Return a pattern for a member's name before its value, in which each character may be escaped.

    It cannot match inside of a string, because a quote is always escaped there.
    """
    spelled = "".join(rf"(?:{char}|\\u(?i:{ord(char):04x}))" for char in name)
    return rf'(?:^|,)\s*"{spelled}"\s*:\s*'


def opening(name: str) -> str:
    """Return a pattern for a member's name before an array or an object."""
    return rf"{named(name)}[\[{{]\z"
