"""Read a connector's file, conf/connectors/NAME.toml, over its base, with variables of the environment filled in.

What all connectors to one kind of database have in common, with its reasons, is in conf/connectors/base/KIND.toml.
"""

import re
from pathlib import Path
from typing import Any

from common.errors import ConfigurationError
from common.settings.connector import Connector
from common.settings.environment import connectors_dir, home, variable
from common.settings.load import file_of, read_toml, validated

# In a text: ${NAME}, or ${NAME:-default}, as in a compose file.
VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>[^{}]*))?\}")
# A default may name a variable itself.
NESTED = 2
FILLED_IN = ("connect", "kafka", "database")


def read_connector(name: str) -> Connector:
    """Read the connector called NAME, over its base, with every variable filled in."""
    path = file_of(connectors_dir(), "connector", name)
    content = read_toml(path)
    for part in FILLED_IN:
        content[part] = filled_in(content.get(part, {}), path)
    own = validated(Connector, {**content, "name": name}, path)
    merged = read_toml(base_file(own.base)).get("settings", {}) | own.settings
    return validated(Connector, {**own.model_dump(), "settings": merged}, base_file(own.base))


def base_file(base: str) -> Path:
    """Find the base beside the connector files, or else in the project."""
    beside = connectors_dir() / "base" / f"{base}.toml"
    return beside if beside.is_file() else home() / "conf" / "connectors" / "base" / f"{base}.toml"


def filled_in(value: Any, path: Path) -> Any:
    """Replace ${NAME} and ${NAME:-default} in every text by the variable of the environment."""
    if isinstance(value, dict):
        return {key: filled_in(each, path) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    for _ in range(NESTED):
        value = VARIABLE.sub(lambda match: from_variable(match["name"], match["default"], path), value)
    return value


def from_variable(name: str, default: str | None, path: Path) -> str:
    found = variable(name) or default
    if found is None:
        raise ConfigurationError(f"{path}: the environment has no {name}", "export it before the command")
    return found
