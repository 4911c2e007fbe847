"""What a folder of common/ may touch: the pure ones import where Spark is not installed."""

import pkgutil
import subprocess
import sys

import pytest

import common
from tests.support.commands import ROOT

PURE = ("settings", "model", "rules", "kafka", "registry", "debezium", "connect", "delta.format")
# Run in a process of its own, in which nothing of Spark can be imported.
IMPORT = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "delta"):
            raise ModuleNotFoundError(f"{name} is not installed here", name=name)

sys.meta_path.insert(0, Absent())
for name in sys.argv[1:]:
    importlib.import_module(name)
assert not {"pyspark", "py4j", "delta"} & {name.partition(".")[0] for name in sys.modules}
"""


def modules(folder: str) -> list[str]:
    prefix = f"common.{folder}."
    return [each.name for each in pkgutil.walk_packages(common.__path__, "common.") if each.name.startswith(prefix)]


def imported(*names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IMPORT, *names], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("folder", PURE)
def test_a_pure_folder_needs_no_spark(folder: str) -> None:
    names = modules(folder)
    assert names
    done = imported(*names)
    assert done.returncode == 0, done.stderr


def test_a_module_that_needs_spark_is_noticed() -> None:
    done = imported("common.spark.queries")
    assert "pyspark is not installed here" in done.stderr


def test_private_handles_of_the_jvm_stand_in_one_module() -> None:
    handles = ("._jvm", "._jsparkSession", "._jdf", "._jsc", "._jo", "._gateway", "_active_spark_context")
    users = {
        path.relative_to(ROOT).as_posix()
        for folder in ("common", "jobs")
        for path in (ROOT / folder).rglob("*.py")
        if any(handle in path.read_text() for handle in handles)
    }
    assert users == {"common/spark/jvm.py"}
