"""Events that the pipeline turns away, and events that something has been done to."""

from datetime import timedelta

from tests.support.payloads.kinds import ANY, Draw, kind_of
from tests.support.payloads.tokens import COLUMNS, one_of, quoted, sound, value
from tests.support.records import NOON


@kind_of("NULL_KEY")
def null_keys(draw: Draw) -> bytes:
    return value(sound(draw) | dict.fromkeys(draw.choice([["id"], ["name"], ["id", "name"]]), "null"))


@kind_of("NULL_KEY")
def missing_keys(draw: Draw) -> bytes:
    gone = draw.choice([{"id"}, {"name"}, set(COLUMNS)])
    return value({name: token for name, token in sound(draw).items() if name not in gone})


@kind_of("NULL_SEQUENCE")
def null_sequences(draw: Draw) -> bytes:
    members = sound(draw, version="null")
    if draw.random() < 0.5:
        del members["version"]
    return value(members)


@kind_of("RULE_passed")
def broken_rules(draw: Draw) -> bytes:
    return value(sound(draw, grade=one_of(draw, "0", "7", "-1", "2147483647")))


@kind_of("NO_TIME")
def events_without_a_time(draw: Draw) -> bytes:
    members = sound(draw, seen="null")
    if draw.random() < 0.5:
        del members["seen"]
    return value(members)


@kind_of("NO_TIME")
def events_whose_time_is_none(draw: Draw) -> bytes:
    texts = [
        "yesterday",
        "10:00",
        "2023",
        "2023-01",
        "2023-01-05",
        "",
        "now",
        " 2023-01-05T10:00Z",
        "2023-02-30T10:00Z",
    ]
    return value(sound(draw, seen=quoted(draw.choice(texts))))


@kind_of("FUTURE")
def events_from_the_future(draw: Draw) -> bytes:
    ahead = NOON + timedelta(hours=1, seconds=draw.choice([1, 60, 10**6, 3 * 10**8]))
    return value(sound(draw, seen=quoted(draw.choice([ahead.strftime("%Y-%m-%dT%H:%M:%SZ"), "9999-12-31T23:59Z"]))))


@kind_of("WRONG_TYPE")
def two_things_wrong_at_once(draw: Draw) -> bytes:
    later = draw.choice([{"name": "null"}, {"version": "null"}, {"grade": "9"}, {"seen": '"no time"'}])
    return value(sound(draw, ok='"yes"') | later)


@kind_of(ANY)
def one_byte_changed(draw: Draw) -> bytes:
    whole = bytearray(value(sound(draw)))
    whole[draw.randrange(len(whole))] = draw.choice([draw.randrange(256), *b'"{}[]:,\\0e.- \n'])
    return bytes(whole)


@kind_of(ANY)
def one_byte_more_or_less(draw: Draw) -> bytes:
    whole, place = value(sound(draw)), draw.randrange(200)
    return draw.choice(
        [
            whole[:place] + whole[place + 1 :],
            whole[:place] + draw.choice(b'"{}[]:,\\0e.- \n').to_bytes() + whole[place:],
        ]
    )
