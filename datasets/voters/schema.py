"""The tables of the voters' book."""

from datasets.simulator.book import SchemaChange

STATEMENTS = (
    "CREATE TYPE voters.standing AS ENUM ('active', 'inactive', 'suspended')",
    """CREATE TABLE voters.districts (
        district_id integer PRIMARY KEY,
        name text NOT NULL,
        seats smallint NOT NULL,
        turnout numeric,
        boundary double precision[],
        updated_at timestamptz NOT NULL
    )""",
    """CREATE TABLE voters.polling_stations (
        district_id integer NOT NULL REFERENCES voters.districts,
        station_no integer NOT NULL,
        address jsonb NOT NULL,
        opens_at time NOT NULL,
        capacity integer,
        PRIMARY KEY (district_id, station_no)
    )""",
    """CREATE TABLE voters.voters (
        voter_no text PRIMARY KEY,
        person_id uuid NOT NULL,
        first_name text NOT NULL,
        last_name text NOT NULL,
        born_on date NOT NULL,
        district_id integer NOT NULL REFERENCES voters.districts,
        standing voters.standing NOT NULL DEFAULT 'active',
        address jsonb,
        languages text[],
        signature bytea,
        remarks text,
        fee_paid numeric(8,2) DEFAULT 0,
        phone text,
        updated_at timestamp NOT NULL
    )""",
    # The large columns are stored apart from the row, and not compressed.
    "ALTER TABLE voters.voters ALTER remarks SET STORAGE EXTERNAL",
    "ALTER TABLE voters.voters ALTER signature SET STORAGE EXTERNAL",
    """CREATE TABLE voters.registrations (
        registration_id uuid PRIMARY KEY,
        voter_no text NOT NULL,
        district_id integer NOT NULL,
        registered_at timestamptz NOT NULL,
        reason text
    )""",
)

CHANGES = {
    "add-column": SchemaChange(
        "ALTER TABLE voters.voters ADD COLUMN postal_vote boolean NOT NULL DEFAULT false",
        lambda columns: "postal_vote" in columns["voters"],
    ),
    "widen": SchemaChange(
        "ALTER TABLE voters.districts ALTER COLUMN seats TYPE integer",
        lambda columns: columns["districts"]["seats"] == "integer",
    ),
    "rename": SchemaChange(
        "ALTER TABLE voters.voters RENAME COLUMN phone TO telephone", lambda columns: "telephone" in columns["voters"]
    ),
    "drop": SchemaChange(
        "ALTER TABLE voters.polling_stations DROP COLUMN capacity",
        lambda columns: "capacity" not in columns["polling_stations"],
    ),
}
