"""Secrets are references, env:NAME or file:PATH. They are resolved here only, when they are needed, and never shown."""

import re
import shlex
import stat
from pathlib import Path

from common.errors import ConfigurationError
from common.settings.environment import home, variable

REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.+")


def reference(text: str) -> str:
    """Refuse everything but a reference. The message does not repeat the text, which may be the secret itself."""
    if REFERENCE.fullmatch(text) is None:
        raise ValueError(
            "a secret does not stand in a pipeline file; keep it elsewhere and write env:NAME or file:PATH"
        )
    return text


def reveal(named: str) -> str:
    """Read the secret behind a reference, without the line break that an editor leaves at its end."""
    kind, _, where = named.partition(":")
    text = from_environment(where) if kind == "env" else from_file(home() / where)
    secret = text.rstrip("\r\n")
    if not secret:
        raise ConfigurationError(f"the secret {named} is empty", "write the secret there")
    return secret


def from_environment(name: str) -> str:
    text = variable(name)
    if text is None:
        raise ConfigurationError(f"the environment has no {name}, which env:{name} names", "export it before the job")
    return text


def from_file(path: Path) -> str:
    """Read a file, and refuse one that others than its owner can read: they must not have the secret."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigurationError(
                f"others than its owner have access to the secret file {path}", shlex.join(["chmod", "600", str(path)])
            )
        return path.read_text()
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the secret file {path} ({error.strerror})", "correct its path or owner"
        ) from error
    except UnicodeDecodeError:
        # Without its cause, which would carry the file's bytes into the log.
        raise ConfigurationError(f"the secret file {path} is not UTF-8 text", "write the secret as text") from None
