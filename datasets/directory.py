"""Directories that appear whole or not at all, each with a manifest of what made it."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from common.errors import AlluviumError, Locked, UsageError

MANIFEST = "manifest.json"

Manifest = Mapping[str, object]


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of the generator that made the directory; None where no generator did."""
    try:
        content = json.loads((directory / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def is_made_of(directory: Path, parameters: Manifest) -> bool:
    """True where the directory was made with exactly these parameters; a manifest may have more besides."""
    manifest = read_manifest(directory)
    return manifest is not None and all(manifest.get(name) == value for name, value in parameters.items())


def check_free(directory: Path, *, overwrite: bool) -> None:
    """Refuse to touch what is there; with `overwrite`, still refuse what no generator made."""
    if not directory.exists():
        return
    if not overwrite:
        raise UsageError(f"{directory} exists", "add --overwrite to replace it, or another directory")
    if not directory.is_dir() or (any(directory.iterdir()) and read_manifest(directory) is None):
        raise UsageError(f"{directory} is no dataset, and --overwrite would delete it", "give another directory")


@contextmanager
def written_whole(directory: Path) -> Iterator[Path]:
    """Yield a folder to write into. It takes the directory's name and place at the end, if there was no error."""
    partial = directory.with_name(f".{directory.name}.partial")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with _owned(partial):
            _empty(partial)
            try:
                yield partial
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
            _put_in_place(partial, directory)
    except OSError as error:
        raise AlluviumError(
            f"cannot write {directory}: {error.strerror or error}", "see to space and permissions, or write elsewhere"
        ) from error


@contextmanager
def _owned(partial: Path) -> Iterator[None]:
    """Hold the folder for this process alone: one that a killed run left is used again, one of a living run is not."""
    partial.mkdir(exist_ok=True)
    descriptor = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Locked(f"another process is writing {partial}", "wait for it to end") from error
        # Its owner may have moved the folder into place between our open and our lock: it is no longer ours to empty.
        if not (partial.exists() and os.path.samestat(os.fstat(descriptor), partial.stat())):
            raise Locked(f"another process has just finished {partial}", "look at what it wrote")
        yield
    finally:
        os.close(descriptor)


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _put_in_place(partial: Path, directory: Path) -> None:
    """Move the folder into place. Two renames replace a directory: a kill between them leaves none, never a mixture."""
    replaced = directory.with_name(f".{directory.name}.replaced")
    shutil.rmtree(replaced, ignore_errors=True)
    if directory.exists():
        directory.rename(replaced)
    partial.rename(directory)
    shutil.rmtree(replaced, ignore_errors=True)
