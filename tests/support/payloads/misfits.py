"""JSON that is not an event of the declared columns."""

from tests.support.payloads.kinds import Draw, kind_of
from tests.support.payloads.tokens import COLUMNS, calendar_day, nested, one_of, quoted, sound, text, tree, value


@kind_of("NOT_AN_OBJECT")
def arrays(draw: Draw) -> bytes:
    return f"[{tree(draw)},{text(sound(draw))}]".encode()


@kind_of("NOT_AN_OBJECT")
def scalars(draw: Draw) -> bytes:
    return (
        " " + one_of(draw, "null", "true", "false", "1", "-1.5e3", '"x"', '"{}"', "1e400", "9" * 50) + "\n"
    ).encode()


@kind_of("NOT_AN_OBJECT", most=20)
def deep_arrays(draw: Draw) -> bytes:
    return f"[{nested(draw, draw.choice([900, 998]))}]".encode()


def not_of(draw: Draw, *columns: str, tokens: list[str]) -> bytes:
    return value(sound(draw) | {draw.choice(columns): draw.choice(tokens)})


@kind_of("WRONG_TYPE")
def texts_that_are_none(draw: Draw) -> bytes:
    return not_of(draw, "name", "seen", tokens=["1", "1.5", "true", "[]", "{}", '["x"]', "1e5", '{"name":"x"}'])


@kind_of("WRONG_TYPE")
def booleans_that_are_none(draw: Draw) -> bytes:
    return not_of(draw, "ok", tokens=["1", "0", '"true"', '"false"', "[true]", "{}", '""', "1.0"])


@kind_of("WRONG_TYPE")
def integers_that_are_none(draw: Draw) -> bytes:
    tokens = ['"1"', "true", "1.0", "1.5", "1e2", "1E0", "[1]", "{}", '""', "-0.0", "0e0"]
    return not_of(draw, "id", "small", "version", "grade", tokens=tokens)


@kind_of("WRONG_TYPE")
def integers_out_of_range(draw: Draw) -> bytes:
    small = ["2147483648", "-2147483649", "70000000000", "9223372036854775808", "1" * 400]
    long = ["9223372036854775808", "-9223372036854775809", "9" * 38, "-" + "9" * 39, "1" * 400]
    return draw.choice([not_of(draw, "small", tokens=small), not_of(draw, "id", "version", tokens=long)])


@kind_of("WRONG_TYPE")
def floating_numbers_that_are_none(draw: Draw) -> bytes:
    tokens = ['"1.5"', '"NaN"', '"Infinity"', "true", "[1.5]", '{"a":1}', '""']
    return not_of(draw, "ratio", "degrees", tokens=tokens)


@kind_of("WRONG_TYPE")
def floating_numbers_out_of_range(draw: Draw) -> bytes:
    double = ["1e400", "-1e309", "1.7976931348623159e308", "9" * 400, "-1e999999999"]
    single = ["1e39", "-3.5e38", "3.4028236e38", "9" * 39, "1e400"]
    return draw.choice([not_of(draw, "degrees", tokens=double), not_of(draw, "ratio", tokens=single)])


@kind_of("WRONG_TYPE")
def decimals_that_are_none(draw: Draw) -> bytes:
    return not_of(draw, "price", "share", "huge", tokens=['"1"', "true", "[0]", "{}", '"0.5"', "false"])


@kind_of("WRONG_TYPE")
def decimals_out_of_range(draw: Draw) -> bytes:
    price = ["10000000000000000", "-10000000000000000.0", "9" * 38, "9" * 39, "1" * 400]
    share = ["1", "-1", "1.0", "0.9999", "10", "1" + "0" * 30]
    huge = ["1" + "0" * 38, "-" + "9" * 39, "9" * 60]
    column, tokens = draw.choice([("price", price), ("share", share), ("huge", huge)])
    return not_of(draw, column, tokens=tokens)


@kind_of("WRONG_TYPE")
def decimals_with_too_many_digits(draw: Draw) -> bytes:
    price = [
        "0.00001",
        "1.23456",
        "9999999999999999.99995",
        "0.0" + "0" * 36 + "1",
        "1." + "0" * 50 + "1",
        "0.1" + "0" * 40,
    ]
    share = ["0.0001", "0.9995", "-0.0005", "0." + "0" * 37 + "1", "0." + "3" * 38, "0." + "3" * 60]
    huge = ["0.5", "1.0000001", "9" * 37 + ".9", "0." + "0" * 30 + "1", "7" * 38 + ".0"]
    column, tokens = draw.choice([("price", price), ("share", share), ("huge", huge)])
    return not_of(draw, column, tokens=tokens)


@kind_of("WRONG_TYPE")
def decimals_with_an_exponent(draw: Draw) -> bytes:
    return not_of(draw, "price", "share", "huge", tokens=["1e-1", "0e0", "5E-1", "1e400", "1e-400", "1e-600000000"])


@kind_of("WRONG_TYPE")
def days_that_are_none(draw: Draw) -> bytes:
    tokens = [
        "20230105",
        "true",
        "[]",
        '""',
        '"2023"',
        '"2023-01"',
        '"2023-1-5"',
        '"23-01-05"',
        '"2023-01-05T00:00:00"',
    ]
    sloppy = ['" 2023-01-05"', '"2023-01-05 "', '"2023-01-05\\n"', '"today"', '"+2023-01-05"', '"２０２３-01-05"', "{}"]
    return not_of(draw, "day", tokens=tokens + sloppy)


@kind_of("WRONG_TYPE")
def impossible_days(draw: Draw) -> bytes:
    tokens = [
        "2023-02-29",
        "1900-02-29",
        "2023-13-01",
        "2023-00-10",
        "2023-04-31",
        "2023-01-00",
        "0000-01-01",
        "2023-01-32",
    ]
    return not_of(draw, "day", tokens=[quoted(token) for token in tokens])


@kind_of("WRONG_TYPE")
def times_that_are_none(draw: Draw) -> bytes:
    sloppy = [
        "10:00",
        "T10:00",
        "2023-01-05",
        "2023-01-05T10",
        "2023-01-05t10:00",
        "2023-01-05  10:00",
        "now",
        "",
        "1673000000",
    ]
    zones = [
        "2023-01-05T10:00z",
        "2023-01-05T10:00 UTC",
        "2023-01-05T10:00+1",
        "2023-01-05T10:00+0100",
        "2023-01-05T10:00Z\n",
    ]
    odd = ["2023-01-05T10:00:00.", "2023-01-05T10:00:00.1234567", "2023-01-05T10:00:00,5", "12023-01-05T10:00Z"]
    return not_of(
        draw, "at", tokens=[*(quoted(token) for token in sloppy + zones + odd), "1673000000", "[]", "{}", "true"]
    )


@kind_of("WRONG_TYPE")
def impossible_times(draw: Draw) -> bytes:
    clocks = ["24:00", "23:60", "23:59:60", "25:00:00Z", "10:00+18:01", "10:00-19:00", "10:00+01:60", "10:00+99:99"]
    days = [f"{calendar_day(draw)}T{time}" for time in clocks] + [
        "2023-02-29T10:00Z",
        "2023-13-01T10:00",
        "0000-01-01T00:00Z",
    ]
    beyond = ["0001-01-01T00:00+00:01", "9999-12-31T23:59:59.999999-00:01", "9999-12-31T23:00-18:00"]
    return not_of(draw, "at", tokens=[quoted(token) for token in days + beyond])


@kind_of("WRONG_TYPE", most=40)
def deep_values_in_columns(draw: Draw) -> bytes:
    return not_of(draw, *COLUMNS, tokens=[f"[{nested(draw, draw.choice([900, 997]))}]"])
