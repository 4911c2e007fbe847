"""build.sh: what is missing or wrong is one line with the remedy, before anything else happens."""

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from kafka_docker.embedded.ports import free_port
from tests.support.commands import ROOT, clean_environment

NEEDED = ["build.sh", "requirements-build.txt", "requirements.txt", "requirements-dev.txt", "submit", "conf", "common"]
CLOSED = f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The sources that build.sh needs, with nothing built."""
    for name in NEEDED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    return tmp_path


@pytest.fixture
def built_clone(clone: Path) -> Path:
    """The same with this project's own environment, so that only jars are missing."""
    (clone / ".venv").symlink_to(ROOT / ".venv")
    return clone


def build(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [clone / "build.sh", *arguments],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def refused(clone: Path, *said: str, arguments: tuple[str, ...] = (), **environment: str) -> None:
    done = build(clone, *arguments, **environment)
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    for part in said:
        assert part in line
    assert done.returncode == 1
    assert [name for name in (".venv.partial", "dist") if (clone / name).exists()] == []


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def local_mirror(folder: Path, *, content: bytes) -> str:
    """A Maven repository of one artifact, org.example:thing:1.0."""
    jar = folder / "org" / "example" / "thing" / "1.0" / "thing-1.0.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(content)
    return folder.as_uri() + "/"


def test_no_java(clone: Path) -> None:
    refused(clone, "no Java found", "/nowhere/bin/java", "install a Java 17", JAVA_HOME="/nowhere")
    assert not (clone / ".venv").exists()


def test_a_java_too_old(clone: Path) -> None:
    executable(clone / "jdk" / "bin" / "java", "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2")
    refused(clone, "Java 11 found", "needs 17 to 23", JAVA_HOME=str(clone / "jdk"))
    assert not (clone / ".venv").exists()


def test_no_python(clone: Path) -> None:
    refused(clone, "no Python 3.11 to 3.13 found", "set PYTHON", PYTHON="/nowhere/python3")


def test_a_python_too_old(clone: Path) -> None:
    refused(clone, "no Python 3.11 to 3.13 found", PYTHON=str(executable(clone / "old", "exit 1")))


def test_no_package_index(clone: Path) -> None:
    refused(clone, "pip cannot fetch packages", "PIP_INDEX_URL", PIP_INDEX_URL=CLOSED, PIP_FIND_LINKS="")
    assert not (clone / ".venv").exists()


def test_no_maven_repository(built_clone: Path) -> None:
    refused(
        built_clone,
        "cannot fetch org.apache.spark:spark-sql-kafka",
        "ALLUVIUM_MAVEN_MIRROR",
        ALLUVIUM_MAVEN_MIRROR=CLOSED,
    )
    assert not (built_clone / "build" / "jars" / "spark").exists()


def test_a_jar_with_another_checksum_is_refused_when_it_is_fetched(built_clone: Path) -> None:
    mirror = local_mirror(built_clone / "mirror", content=b"evil")
    wanted = hashlib.sha256(b"good").hexdigest()
    (built_clone / "conf" / "jars.lock").write_text(f"[spark]\norg.example:thing:1.0 {wanted}\n[kernel]\n")
    refused(built_clone, "refused org.example:thing:1.0", wanted, ALLUVIUM_MAVEN_MIRROR=mirror)
    assert not (built_clone / "build" / "jars" / "spark").exists()


def test_a_jar_that_changed_since_is_refused_and_named(built_clone: Path) -> None:
    mirror = local_mirror(built_clone / "mirror", content=b"good")
    wanted = hashlib.sha256(b"good").hexdigest()
    (built_clone / "conf" / "jars.lock").write_text(f"[spark]\norg.example:thing:1.0 {wanted}\n[kernel]\n")
    assert build(built_clone, ALLUVIUM_MAVEN_MIRROR=mirror).returncode == 0
    jar = built_clone / "build" / "jars" / "spark" / "thing-1.0.jar"
    assert jar.read_bytes() == b"good"
    shutil.rmtree(built_clone / "dist")
    jar.write_bytes(b"evil")
    refused(
        built_clone, "build/jars/spark/thing-1.0.jar: its checksum is not the one in conf/jars.lock", "delete the file"
    )


def test_an_unknown_group_names_those_there_are(built_clone: Path) -> None:
    refused(built_clone, "no group 'moon' in conf/jars.lock", "spark, kernel, kafka", arguments=("--jars", "moon"))


def test_run_twice_it_does_nothing_twice() -> None:
    watched = [ROOT / ".venv" / ".locked", ROOT / "dist" / "common.zip", *(ROOT / "build" / "jars" / "spark").glob("*")]

    def touched() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in watched}

    assert build(ROOT).returncode == 0
    before = touched()
    done = build(ROOT, PIP_INDEX_URL=CLOSED, ALLUVIUM_MAVEN_MIRROR=CLOSED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert touched() == before


def test_the_zip_is_the_same_for_the_same_sources(clone: Path) -> None:
    def packaged() -> bytes:
        subprocess.run([ROOT / ".venv" / "bin" / "python", clone / "submit" / "package.py"], check=True, timeout=60)
        return (clone / "dist" / "common.zip").read_bytes()

    first = packaged()
    (clone / "dist" / "common.zip").unlink()
    os.utime(clone / "common" / "errors.py", (0, 0))
    assert packaged() == first
    (clone / "common" / "errors.py").write_text("# changed\n")
    assert packaged() != first
