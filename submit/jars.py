"""Fetch the Java artifacts of conf/jars.lock with the Ivy inside the pyspark wheel, and verify every one.

It uses only the standard library, because it runs while the environment is still being built.
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "conf" / "jars.lock"
JARS = ROOT / "build" / "jars"
MIRROR = "ALLUVIUM_MAVEN_MIRROR"
UNKNOWN = "unknown"
# The name of an XML namespace, which nobody fetches.
CLASSIFIERS = "http://ant.apache.org/ivy/maven"
FORM = re.compile(r"(?P<org>[^:@]+):(?P<name>[^:@]+):(?P<rev>[^:@]+)(:(?P<classifier>[^@]+))?(@(?P<ext>.+))?")


class JarsError(Exception):
    """An expected failure: one line says what is wrong, and the remedy."""


@dataclass(frozen=True)
class Artifact:
    """One line of the lock."""

    coordinate: str
    org: str
    name: str
    rev: str
    classifier: str
    ext: str
    sha256: str

    @property
    def file(self) -> str:
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.rev}{suffix}.{self.ext}"


def artifact(coordinate: str, sha256: str) -> Artifact:
    match = FORM.fullmatch(coordinate)
    if match is None:
        raise JarsError(f"{LOCK.name}: '{coordinate}' is not org:name:version[:classifier][@ext]")
    part = match.groupdict()
    return Artifact(
        coordinate, part["org"], part["name"], part["rev"], part["classifier"] or "", part["ext"] or "jar", sha256
    )


def read_lock(text: str) -> dict[str, list[Artifact]]:
    """Read the groups of the lock: `[group]`, then a coordinate and its SHA-256 a line; `#` begins a comment."""
    groups: dict[str, list[Artifact]] = {}
    current: list[Artifact] | None = None
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        if line.startswith("["):
            current = groups.setdefault(line.strip("[]"), [])
        elif current is None:
            raise JarsError(f"{LOCK.name}: '{line}' stands before the first [group]")
        else:
            coordinate, _, sha256 = line.partition(" ")
            current.append(artifact(coordinate, sha256.strip() or UNKNOWN))
    return groups


def group_for_this_machine(group: str) -> str:
    """Return the group for this platform: PostgreSQL's binaries differ, every other group is the same everywhere."""
    if group != "postgres":
        return group
    machine = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}
    return f"postgres-{platform.system().lower()}-{machine.get(platform.machine().lower(), platform.machine())}"


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def missing(folder: Path, artifacts: list[Artifact]) -> list[Artifact]:
    """Return the artifacts that are still to fetch. A file with another checksum than the lock's is refused by name."""
    absent = []
    for each in artifacts:
        path = folder / each.file
        if not path.exists():
            absent.append(each)
        elif sha256_of(path) != each.sha256:
            raise JarsError(
                f"{path.relative_to(ROOT)}: its checksum is not the one in conf/{LOCK.name}; "
                f"delete the file and run ./build.sh again, and do not use it"
            )
    return absent


def ivy_module(group: str, artifacts: list[Artifact]) -> str:
    """Write Ivy's module with every artifact exact and non-transitive, because the list is the lock."""
    rows = []
    for each in artifacts:
        classifier = f" m:classifier={quoteattr(each.classifier)}" if each.classifier else ""
        rows.append(
            f"<dependency org={quoteattr(each.org)} name={quoteattr(each.name)} rev={quoteattr(each.rev)} "
            f'transitive="false" conf="{group}->*"><artifact name={quoteattr(each.name)} type="jar" '
            f"ext={quoteattr(each.ext)}{classifier}/></dependency>"
        )
    return (
        f'<ivy-module version="2.0" xmlns:m="{CLASSIFIERS}">'
        f'<info organisation="alluvium" module="{group}"/><configurations><conf name="{group}"/></configurations>'
        f"<dependencies>{''.join(rows)}</dependencies></ivy-module>"
    )


def ivy_settings(cache: Path) -> str:
    """Write Ivy's settings with usepoms="false": some parent POMs do not resolve, and nothing here needs one."""
    mirror = os.environ.get(MIRROR)
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return (
        f'<ivysettings><settings defaultResolver="central"/><caches defaultCacheDir={quoteattr(str(cache))}/>'
        f'<resolvers><ibiblio name="central" m2compatible="true" usepoms="false"{root}/></resolvers></ivysettings>'
    )


def ivy_jar() -> Path:
    import pyspark  # noqa: PLC0415  the only line that needs the virtual environment

    found = sorted((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise JarsError("the pyspark package carries no Ivy; delete .venv and run ./build.sh again")
    return found[-1]


def java() -> str:
    """Name Java by the same choice as Spark: JAVA_HOME before the PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def run_ivy(group: str, artifacts: list[Artifact], work: Path) -> list[str]:
    """Retrieve into work/lib, and return Ivy's own lines, which say what it could not find."""
    (work / "ivy.xml").write_text(ivy_module(group, artifacts))
    (work / "settings.xml").write_text(ivy_settings(work / "cache"))
    pattern = str(work / "lib" / "[artifact]-[revision](-[classifier]).[ext]")
    done = subprocess.run(
        [java(), "-jar", ivy_jar(), "-settings", work / "settings.xml", "-ivy", work / "ivy.xml", "-retrieve", pattern],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stdout.splitlines() + done.stderr.splitlines() if line.strip()]


def fetch(group: str, artifacts: list[Artifact]) -> None:
    """Fetch into a temporary folder, verify, then move: a broken download never reaches build/jars."""
    folder = JARS / group
    absent = missing(folder, artifacts)
    if not absent:
        return
    print(f"fetching {len(absent)} artifacts of group '{group}'", file=sys.stderr, flush=True)
    JARS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=JARS.parent) as temporary:
        work = Path(temporary)
        said = run_ivy(group, absent, work)
        for each in absent:
            verify_download(work / "lib" / each.file, each, said)
        folder.mkdir(parents=True, exist_ok=True)
        for each in absent:
            shutil.move(work / "lib" / each.file, folder / each.file)


def verify_download(path: Path, wanted: Artifact, said: list[str]) -> None:
    if not path.exists():
        log = JARS.parent / "ivy.log"
        log.write_text("\n".join(said))
        raise JarsError(
            f"cannot fetch {wanted.coordinate}: check the network or your proxy (JAVA_TOOL_OPTIONS), or set {MIRROR} "
            f"to your Maven mirror; Ivy's words are in {log.relative_to(ROOT)}"
        )
    found = sha256_of(path)
    if found != wanted.sha256:
        raise JarsError(f"refused {wanted.coordinate}: its SHA-256 is {found}, conf/{LOCK.name} says {wanted.sha256}")


def lock(groups: dict[str, list[Artifact]]) -> None:
    """Fill in the checksums of lines that have none: for the maintainer who changes a version."""
    text = LOCK.read_text()
    for group, artifacts in groups.items():
        unknown = [each for each in artifacts if each.sha256 == UNKNOWN]
        if not unknown:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            said = run_ivy(group, unknown, Path(temporary))
            for each in unknown:
                path = Path(temporary) / "lib" / each.file
                if not path.exists():
                    raise JarsError(f"cannot fetch {each.coordinate}: " + " | ".join(said[-5:]))
                line = re.compile(rf"^{re.escape(each.coordinate)}\s*$", re.MULTILINE)
                text = line.sub(f"{each.coordinate} {sha256_of(path)}", text)
    LOCK.write_text(text)


def selected(groups: dict[str, list[Artifact]], names: list[str]) -> dict[str, list[Artifact]]:
    chosen = {}
    for name in names:
        actual = group_for_this_machine(name)
        if actual not in groups:
            raise JarsError(f"no group '{actual}' in conf/{LOCK.name}; it has: {', '.join(groups)}")
        chosen[actual] = groups[actual]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["fetch", "lock"])
    parser.add_argument("groups", nargs="*", help="groups of conf/jars.lock")
    arguments = parser.parse_args()
    groups = read_lock(LOCK.read_text())
    if arguments.action == "lock":
        lock(groups)
        return
    for group, artifacts in selected(groups, arguments.groups).items():
        fetch(group, artifacts)


if __name__ == "__main__":
    try:
        main()
    except JarsError as error:
        sys.exit(f"error: {error}")
