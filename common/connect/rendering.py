"""Render a connector file as the configuration that Connect takes: names and texts, without a secret."""

import re
from pathlib import Path

from common.settings.connector import SECRET, Connector, Setting
from common.settings.environment import home

MASK = "********"


def rendered(connector: Connector) -> dict[str, str]:
    """Return the whole configuration, sorted by name."""
    capture, database = connector.capture, connector.database
    own: dict[str, Setting] = {
        "topic.prefix": capture.topic_prefix,
        "slot.name": capture.slot,
        "publication.name": capture.publication,
        "signal.data.collection": capture.signals,
        "database.hostname": database.connect_host or database.host,
        "database.port": database.connect_port or database.port,
        "database.dbname": database.name,
        "database.user": database.user,
        "database.password": database.connect_password or for_connect(database.password),
        "database.sslmode": database.sslmode,
    }
    # Debezium takes regular expressions, in which a dot means any character.
    if capture.tables:
        own["table.include.list"] = ",".join(map(re.escape, capture.tables))
    else:
        own["schema.include.list"] = ",".join(map(re.escape, capture.schemas))
    if capture.without:
        own["table.exclude.list"] = ",".join(capture.without)
    return {name: text(value) for name, value in sorted({**connector.settings, **own}.items())}


def text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def for_connect(reference: str) -> str:
    """Write our reference to a secret as one that the worker resolves: its configuration is shown to everybody."""
    kind, _, where = reference.partition(":")
    if kind == "env":
        return f"${{env:{where}}}"
    path = Path(home() / where).absolute()
    return f"${{directory:{path.parent}:{path.name}}}"


def masked(configuration: dict[str, str]) -> dict[str, str]:
    """Hide what is a secret. A reference to one may be seen: by it the reader finds the mistake."""
    return {
        name: MASK if SECRET.search(name) and not value.startswith("${") else value
        for name, value in configuration.items()
    }
