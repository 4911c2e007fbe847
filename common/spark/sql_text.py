"""Identifiers and texts, quoted for SQL."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A dollar sign is written as an escape: where variables are substituted, `${env:NAME}` would be replaced."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
