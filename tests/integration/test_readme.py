"""The README's commands, as written, print what the README says."""

import re
from pathlib import Path

import pytest

from tests.support.commands import ROOT, run

README = (ROOT / "README.md").read_text()


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def promised_lines() -> list[str]:
    """The block that follows `make demo`."""
    return re.search(r"```text\n(.*?)```", README.split("make demo", 1)[1], re.DOTALL).group(1).splitlines()


def test_the_two_commands_are_the_readmes_only_ones() -> None:
    assert commands() == ["make demo", "make test"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["make demo", pytest.param("make demo MODE=stream", marks=pytest.mark.long)])
def test_the_demo_prints_what_the_readme_promises(command: str) -> None:
    assert command in README
    done = run(command.split(), timeout=560)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = iter(done.stdout.splitlines())
    assert [line for line in promised_lines() if line not in printed] == []
    assert "var/demo" not in run(["ps", "-eo", "args"]).stdout, "something of the demo still runs"


@pytest.mark.long
def test_the_ratings_demo_leaves_a_right_and_compacted_table() -> None:
    done = run(["make", "ratings-demo", "COUNT=3000"], timeout=560)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"rating_date=\S+: \d+ files into 1,", done.stdout)
    assert re.search(r"^6,000 messages were sent, [\d,]+ ratings stand in the table", done.stdout, re.MULTILINE)
    assert "var/ratings-demo" not in run(["ps", "-eo", "args"]).stdout, "something of the demo still runs"


def test_ci_runs_the_test_command() -> None:
    assert "exec make test" in (ROOT / ".ci" / "run").read_text()


def test_every_file_that_a_document_names_exists() -> None:
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "kafka_docker" / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / Path(target)).exists(), f"{document.name} names {target}"
        for script in re.findall(r"`(\w+\.sh)`", document.read_text()):
            assert (ROOT / "submit" / script).exists() or (ROOT / script).exists(), f"{document.name} names {script}"
