"""The tables of the voters' book by their keys, and how the values of their columns are made."""

from datetime import date, time

from psycopg.types.json import Jsonb

from datasets.simulator.book import Table
from datasets.simulator.chance import Chance

STANDINGS = ("active", "inactive", "suspended")
REASONS = ("first", "moved", "name changed", "returned", None)
DAYS = 365


def address(chance: Chance) -> Jsonb:
    return Jsonb({"street": chance.words(2), "floor": chance.pick((None, 1, 2.5)), "at": [chance.below(90), None]})


TABLES = {
    "districts": Table(
        ("district_id",),
        {
            "name": lambda chance, _: chance.words(2),
            "seats": lambda chance, kind: chance.below(10**6 if kind == "integer" else 200),
            "turnout": lambda chance, _: chance.number_of_any_scale() if chance.happens(0.9) else None,
            "boundary": lambda chance, _: [chance.below(3600) / 16 for _ in range(6)],
            "updated_at": lambda chance, _: chance.moment(DAYS),
        },
    ),
    "polling_stations": Table(
        ("district_id", "station_no"),
        {
            "address": lambda chance, _: address(chance),
            "opens_at": lambda chance, _: time(chance.below(24), chance.below(60)),
            "capacity": lambda chance, _: chance.below(5_000) if chance.happens(0.8) else None,
        },
    ),
    "voters": Table(
        ("voter_no",),
        {
            "person_id": lambda chance, _: chance.uuid(),
            "first_name": lambda chance, _: chance.words(1),
            "last_name": lambda chance, _: chance.words(1),
            "born_on": lambda chance, _: chance.day(date(1910, 1, 1), 35_000),
            "standing": lambda chance, _: chance.pick(STANDINGS),
            "address": lambda chance, _: address(chance) if chance.happens(0.9) else None,
            "languages": lambda chance, _: [chance.letters(2) for _ in range(chance.below(3))],
            "signature": lambda chance, _: chance.bytes(chance.between(2_500, 4_000)),
            "remarks": lambda chance, _: chance.large_text() if chance.happens(0.8) else None,
            "fee_paid": lambda chance, _: chance.number(3, 2) if chance.happens(0.7) else None,
            "phone": lambda chance, _: chance.letters(9) if chance.happens(0.6) else None,
            "telephone": lambda chance, _: chance.letters(9) if chance.happens(0.6) else None,
            "postal_vote": lambda chance, _: chance.happens(0.3),
            "updated_at": lambda chance, _: chance.moment(DAYS).replace(tzinfo=None),
        },
        frozenset({"signature", "remarks"}),
    ),
    "registrations": Table(
        ("registration_id",),
        {
            "registered_at": lambda chance, _: chance.moment(DAYS),
            "reason": lambda chance, _: chance.pick(REASONS),
        },
    ),
}
