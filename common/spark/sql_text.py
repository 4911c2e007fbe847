"""Quote identifiers and texts for SQL."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Quote a text. A dollar sign becomes an escape, because Spark would substitute `${env:NAME}`."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
