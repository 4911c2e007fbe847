"""The tables of the shop, with columns of the types that change data capture is known to lose or to change."""

from datasets.simulator.book import SchemaChange

MONTHS = 12


def partitions() -> list[str]:
    """One partition of the history for each month of 2025."""
    bounds = [f"{2025 + month // MONTHS}-{month % MONTHS + 1:02}-01" for month in range(MONTHS + 1)]
    return [
        f"CREATE TABLE shop.order_history_2025{month + 1:02} PARTITION OF shop.order_history"
        f" FOR VALUES FROM ('{bounds[month]}+00') TO ('{bounds[month + 1]}+00')"
        for month in range(MONTHS)
    ]


STATEMENTS = (
    "CREATE TYPE shop.tier AS ENUM ('basic', 'silver', 'gold')",
    "CREATE TYPE shop.status AS ENUM ('placed', 'paid', 'packed', 'sent', 'returned')",
    """CREATE TABLE shop.customers (
        customer_id bigint PRIMARY KEY,
        external_id uuid NOT NULL,
        email text NOT NULL,
        full_name text,
        nickname text DEFAULT 'none',
        tier shop.tier NOT NULL DEFAULT 'basic',
        credit numeric,
        address jsonb,
        tags text[],
        registered_at timestamptz NOT NULL,
        last_seen_at timestamp
    )""",
    # The large columns are stored apart from the row, and not compressed.
    """CREATE TABLE shop.products (
        sku text PRIMARY KEY,
        name text NOT NULL,
        price numeric(12,2) NOT NULL,
        weight_grams integer,
        stock integer NOT NULL DEFAULT 0,
        description text,
        attributes jsonb,
        picture bytea,
        sizes integer[],
        available boolean NOT NULL DEFAULT true,
        released_on date
    )""",
    "ALTER TABLE shop.products ALTER description SET STORAGE EXTERNAL",
    "ALTER TABLE shop.products ALTER picture SET STORAGE EXTERNAL",
    """CREATE TABLE shop.orders (
        order_id bigint PRIMARY KEY,
        customer_id bigint NOT NULL REFERENCES shop.customers,
        status shop.status NOT NULL,
        placed_at timestamptz NOT NULL,
        total numeric(14,2) NOT NULL,
        note text DEFAULT 'no note',
        is_gift boolean
    )""",
    """CREATE TABLE shop.order_items (
        order_id bigint NOT NULL REFERENCES shop.orders,
        line_no integer NOT NULL,
        sku text NOT NULL,
        quantity smallint NOT NULL,
        unit_price numeric(12,2) NOT NULL,
        discount numeric,
        gift_message text,
        PRIMARY KEY (order_id, line_no)
    )""",
    # Old rows arrive whole with each change.
    "ALTER TABLE shop.order_items REPLICA IDENTITY FULL",
    """CREATE TABLE shop.order_history (
        event_id bigint NOT NULL,
        changed_at timestamptz NOT NULL,
        order_id bigint NOT NULL,
        status shop.status NOT NULL,
        changed_by text,
        PRIMARY KEY (event_id, changed_at)
    ) PARTITION BY RANGE (changed_at)""",
    *partitions(),
)

CHANGES = {
    "add-column": SchemaChange(
        "ALTER TABLE shop.customers ADD COLUMN loyalty_points integer NOT NULL DEFAULT 100",
        lambda columns: "loyalty_points" in columns["customers"],
    ),
    "add-nullable-column": SchemaChange(
        "ALTER TABLE shop.orders ADD COLUMN coupon text", lambda columns: "coupon" in columns["orders"]
    ),
    "widen": SchemaChange(
        "ALTER TABLE shop.products ALTER COLUMN weight_grams TYPE bigint",
        lambda columns: columns["products"]["weight_grams"] == "bigint",
    ),
    "rename": SchemaChange(
        "ALTER TABLE shop.orders RENAME COLUMN note TO remark", lambda columns: "remark" in columns["orders"]
    ),
    "drop": SchemaChange(
        "ALTER TABLE shop.customers DROP COLUMN nickname", lambda columns: "nickname" not in columns["customers"]
    ),
    "new-table": SchemaChange(
        "CREATE TABLE shop.reviews (review_id uuid PRIMARY KEY, sku text NOT NULL, stars smallint NOT NULL, body text,"
        " written_at timestamptz NOT NULL)",
        lambda columns: "reviews" in columns,
    ),
}
