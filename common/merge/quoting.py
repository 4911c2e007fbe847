"""Identifiers from configuration, quoted."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
