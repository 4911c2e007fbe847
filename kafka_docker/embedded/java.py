"""Java processes: the runtime, the command line, and their two kinds of configuration file."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_docker.embedded import settings
from kafka_docker.embedded.errors import JavaMissing


def java() -> str:
    """Find Java by the same choice as Spark: JAVA_HOME before the PATH."""
    home = os.environ.get("JAVA_HOME")
    candidate = str(Path(home) / "bin" / "java") if home else "java"
    found = shutil.which(candidate)
    if found is None:
        raise JavaMissing(f"no Java found (tried '{candidate}')", "install a Java 17 runtime, or set JAVA_HOME to one")
    return found


def jvm(heap: str, properties: Mapping[str, settings.Value]) -> list[str]:
    """Return the beginning of a command line; what is to run follows."""
    return [
        java(),
        f"-Xmx{heap}",
        *settings.jvm_flags(),
        *(f"-D{key}={_text(value)}" for key, value in properties.items()),
    ]


def classpath(jars: Sequence[Path]) -> list[str]:
    return ["-cp", os.pathsep.join(str(jar) for jar in jars)]


def write_properties(path: Path, properties: Mapping[str, settings.Value]) -> Path:
    path.write_text("".join(f"{key}={_escaped(_text(value))}\n" for key, value in properties.items()))
    return path


def write_log4j2(path: Path, levels: Mapping[str, str]) -> Path:
    """Write a configuration that logs to the console, which is the process's log file."""
    properties: dict[str, settings.Value] = {
        "status": "error",
        "appender.console.type": "Console",
        "appender.console.name": "console",
        "appender.console.layout.type": "PatternLayout",
        "appender.console.layout.pattern": "%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %-5p %c{1}: %m%n",
        "rootLogger.level": levels["root"],
        "rootLogger.appenderRef.console.ref": "console",
    }
    for logger, level in levels.items():
        if logger != "root":
            key = f"logger.{logger.replace('.', '_')}"
            properties |= {f"{key}.name": logger, f"{key}.level": level}
    return write_properties(path, properties)


def _text(value: settings.Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _escaped(text: str) -> str:
    """Escape a value: Java takes a backslash for an escape, and the bytes of a properties file for Latin-1."""
    units = text.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
