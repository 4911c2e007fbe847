"""The project's own commands, run as a user runs them."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The JVM's own words at each start; every other line on stderr is ours.
JVM_NOISE = "WARNING: Using incubator modules: jdk.incubator.vector"
# A JVM that will not live long compiles little, neither code nor queries, and shows no pages.
SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.ui.enabled=false "
    "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
)


def jars(*groups: str) -> list[Path]:
    return [jar for group in groups for jar in sorted((ROOT / "build" / "jars" / group).glob("*.jar"))]


def spark_properties(environment: str) -> dict[str, str]:
    """Read the properties of conf/ENVIRONMENT.conf."""
    lines = (ROOT / "conf" / f"{environment}.conf").read_text().splitlines()
    pairs = [line.split(None, 1) for line in lines if line.strip() and not line.startswith("#")]
    return {name: value.strip() for name, value in pairs}


def clean_environment(**extra: str) -> dict[str, str]:
    """The caller's environment without anything that steers Alluvium or Spark; a job's JVM compiles little."""
    ours = ("ALLUVIUM_", "SPARK_", "PYSPARK_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"ALLUVIUM_DRIVER_JAVA_OPTIONS": SHORT_LIVED} | extra


def run(
    command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=clean_environment() if environment is None else environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line != JVM_NOISE]
