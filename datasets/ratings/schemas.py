"""Five versions of one schema, as an application grows: each can read what those before it wrote."""

import json
from collections.abc import Mapping, Sequence

Field = Mapping[str, object]


def field(name: str, kind: str, **more: object) -> Field:
    return {"name": name, "type": kind, **more}


EVENT, USER, RATING = field("event_id", "string"), field("user_id", "string"), field("rating", "double")
FILM, CLIENT = field("film_id", "string"), field("client", "string")
APPROVED = field("is_approved", "boolean", default=False)
SECONDS_INT, SECONDS = field("rating_timestamp", "int"), field("rating_timestamp", "long")
MOVIE = field("movie_id", "string", aliases=["film_id"])

VERSIONS: Mapping[int, Sequence[Field]] = {
    1: (EVENT, USER, FILM, RATING, SECONDS_INT, CLIENT),
    # Added, with a default: an application without approvals has approved nothing.
    2: (EVENT, USER, FILM, RATING, APPROVED, SECONDS_INT, CLIENT),
    # Widened, before 2038.
    3: (EVENT, USER, FILM, RATING, APPROVED, SECONDS, CLIENT),
    # Removed.
    4: (EVENT, USER, FILM, RATING, APPROVED, SECONDS),
    # Renamed: the reader knows the old name.
    5: (EVENT, USER, MOVIE, RATING, APPROVED, SECONDS),
}


def schema(version: int) -> str:
    """Return the schema as it is registered."""
    return json.dumps({"type": "record", "name": "Rating", "namespace": "movies", "fields": VERSIONS[version]})
