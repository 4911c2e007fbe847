"""The only reader of environment variables."""

import os
from pathlib import Path


def home() -> Path:
    """Return the project's folder. submit/ sets it, because inside --py-files a module's own path says nothing."""
    named = os.environ.get("ALLUVIUM_HOME")
    return Path(named) if named else Path(__file__).resolve().parent.parent.parent


def given_environment() -> str | None:
    """Return the environment that --env named. submit/ passes it on, because a job does not see that option."""
    return os.environ.get("ALLUVIUM_GIVEN_ENV") or None


def log_dir() -> Path:
    return Path(os.environ.get("ALLUVIUM_LOG_DIR") or home() / "var" / "log")


def pipelines_dir() -> Path:
    return Path(os.environ.get("ALLUVIUM_PIPELINES") or home() / "conf" / "pipelines")


def connectors_dir() -> Path:
    return Path(os.environ.get("ALLUVIUM_CONNECTORS") or home() / "conf" / "connectors")


def run_id() -> str:
    """Return the id that is in every log line of a run, Python's and the JVM's. submit/ sets it."""
    return os.environ.get("ALLUVIUM_RUN_ID") or f"run-{os.getpid()}"


def launched_by_spark_submit() -> bool:
    """True where spark-submit started this process: its JVM runs already, and has set the port that it listens on."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def report_dir() -> Path:
    return Path(os.environ.get("ALLUVIUM_REPORT_DIR") or home() / "var" / "reports")


def fault() -> str | None:
    """Return the fault point that a test has named."""
    return os.environ.get("ALLUVIUM_FAULT")


def fault_file() -> Path:
    return Path(os.environ["ALLUVIUM_FAULT_FILE"])


def registry_url() -> str | None:
    """Return the registry to use instead of the one in the pipeline's file, for services on other ports than usual."""
    return os.environ.get("ALLUVIUM_REGISTRY_URL")


def variable(name: str) -> str | None:
    """Read a variable that a pipeline file or a connector file names."""
    return os.environ.get(name)
