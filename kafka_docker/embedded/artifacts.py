"""The files a service is made of: jars of conf/jars.lock, fetched when first needed, and archives, unpacked once."""

import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import IO

from kafka_docker.embedded.errors import ArtifactsMissing
from kafka_docker.embedded.settings import ROOT
from submit import jars as lock

UNPACKED = ROOT / "build" / "unpacked"


def jar_paths(groups: list[str]) -> list[Path]:
    """Return the exact files of the groups, so that a jar left over from an older lock is never loaded."""
    try:
        chosen = lock.selected(lock.read_lock(lock.LOCK.read_text()), groups)
    except lock.JarsError as error:
        raise ArtifactsMissing(
            str(error), "this machine's platform is not in the lock, or the lock is damaged"
        ) from error
    paths = [lock.JARS / group / each.file for group, artifacts in chosen.items() for each in artifacts]
    if not all(path.exists() for path in paths):
        _fetch(groups)
    return paths


def _fetch(groups: list[str]) -> None:
    command = [str(ROOT / "build.sh"), "--jars", *groups]
    if subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode != 0:
        raise ArtifactsMissing(
            f"the jars of {', '.join(groups)} could not be fetched",
            f"see above, then run ./build.sh --jars {' '.join(groups)}",
        )


def unpacked(archive: Path, into: Path = UNPACKED) -> Path:
    """Unpack an archive into a folder of its own, which appears whole or not at all."""
    target = into / archive.name.removesuffix(".gz").removesuffix(".tar").removesuffix(".jar")
    if target.exists():
        return target
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as temporary:
        content = Path(temporary) / "content"
        content.mkdir()
        _extract(archive, content)
        try:
            content.rename(target)
        except OSError:
            if not target.exists():  # else another process was faster, with the same content
                raise
    return target


def _extract(archive: Path, folder: Path) -> None:
    if archive.suffix != ".jar":
        with archive.open("rb") as file:
            _extract_tar(file, folder)
        return
    with zipfile.ZipFile(archive) as jar:
        inner = next(name for name in jar.namelist() if name.endswith(".txz"))
        with jar.open(inner) as file:
            _extract_tar(file, folder)


def _extract_tar(file: IO[bytes], folder: Path) -> None:
    with tarfile.open(fileobj=file, mode="r:*") as tar:
        tar.extractall(folder, filter="data")
