"""The tables of the shop by their keys, and how the values of their columns are made."""

from datetime import date

from psycopg.types.json import Jsonb

from datasets.simulator.book import Table
from datasets.simulator.chance import Chance

TIERS = ("basic", "silver", "gold")
STATUSES = ("placed", "paid", "packed", "sent", "returned")
DAYS = 365


def address(chance: Chance) -> Jsonb | None:
    if chance.happens(0.1):
        return None
    return Jsonb(
        {"street": chance.words(2), "number": chance.below(200), "zip": chance.letters(5), "geo": [1.5, -0.25]}
    )


def attributes(chance: Chance) -> Jsonb:
    return Jsonb({chance.letters(4): chance.pick((None, True, chance.below(9), chance.words(1)))})


TABLES = {
    "customers": Table(
        ("customer_id",),
        {
            "external_id": lambda chance, _: chance.uuid(),
            "email": lambda chance, _: f"{chance.letters(8)}@example.org",
            "full_name": lambda chance, _: chance.words(2) if chance.happens(0.9) else None,
            "nickname": lambda chance, _: chance.letters(4) if chance.happens(0.5) else None,
            "tier": lambda chance, _: chance.pick(TIERS),
            "credit": lambda chance, _: chance.number_of_any_scale() if chance.happens(0.8) else None,
            "address": lambda chance, _: address(chance),
            "tags": lambda chance, _: [chance.words(1) for _ in range(chance.below(4))],
            "registered_at": lambda chance, _: chance.moment(DAYS),
            "last_seen_at": lambda chance, _: chance.moment(DAYS).replace(tzinfo=None),
            "loyalty_points": lambda chance, _: chance.below(1_000),
        },
    ),
    "products": Table(
        ("sku",),
        {
            "name": lambda chance, _: chance.words(3),
            "price": lambda chance, _: chance.number(4, 2),
            "weight_grams": lambda chance, kind: chance.below(10**12 if kind == "bigint" else 10**6),
            "stock": lambda chance, _: chance.below(1_000),
            "description": lambda chance, _: chance.large_text(),
            "attributes": lambda chance, _: attributes(chance),
            "picture": lambda chance, _: chance.bytes(chance.between(2_500, 4_000)),
            "sizes": lambda chance, _: [chance.below(60) for _ in range(chance.below(5))],
            "available": lambda chance, _: chance.happens(0.9),
            "released_on": lambda chance, _: chance.day(date(1990, 1, 1), 15_000),
        },
        frozenset({"description", "picture"}),
    ),
    "orders": Table(
        ("order_id",),
        {
            "status": lambda chance, _: chance.pick(STATUSES),
            "placed_at": lambda chance, _: chance.moment(DAYS),
            "total": lambda chance, _: chance.number(5, 2),
            "note": lambda chance, _: chance.words(4) if chance.happens(0.3) else None,
            "remark": lambda chance, _: chance.words(4) if chance.happens(0.3) else None,
            "is_gift": lambda chance, _: chance.pick((True, False, None)),
            "coupon": lambda chance, _: chance.letters(6) if chance.happens(0.5) else None,
        },
    ),
    "order_items": Table(
        ("order_id", "line_no"),
        {
            "quantity": lambda chance, _: chance.between(1, 9),
            "unit_price": lambda chance, _: chance.number(4, 2),
            "discount": lambda chance, _: chance.number_of_any_scale() if chance.happens(0.3) else None,
            "gift_message": lambda chance, _: chance.words(5) if chance.happens(0.2) else None,
        },
    ),
    "order_history": Table(
        ("event_id", "changed_at"),
        {
            "status": lambda chance, _: chance.pick(STATUSES),
            "changed_by": lambda chance, _: chance.letters(6) if chance.happens(0.7) else None,
        },
    ),
    "reviews": Table(
        ("review_id",),
        {
            "stars": lambda chance, _: chance.between(1, 5),
            "body": lambda chance, _: chance.words(12) if chance.happens(0.8) else None,
            "written_at": lambda chance, _: chance.moment(DAYS),
        },
    ),
}
