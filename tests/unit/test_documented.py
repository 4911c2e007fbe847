"""What the documents promise of the tests: every line of the protocol is shown by one, every known failure has one."""

import re
from pathlib import Path

from tests.support.names import test_names as names_of_tests

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL, SCHEMA_CHANGES = DOCS / "protocol.md", DOCS / "schema-changes.md"
# What is known to go wrong with Kafka, decoding, folding, committing, checkpoints, locks and brokers, by its number.
# A test says in its name which of them it is about: test_21_22_….
FAILURES = {*range(1, 12), 16, 17, *range(21, 32), *range(33, 48)}


def test_every_line_of_the_protocol_names_tests_that_exist() -> None:
    lines = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", PROTOCOL.read_text(), re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, 21))
    shown_by = {int(number): re.findall(r"`(test_\w+)`", tests) for number, tests in lines}
    assert [number for number, tests in shown_by.items() if not tests] == []
    assert {name for tests in shown_by.values() for name in tests} - set(names_of_tests()) == set()


def test_every_difference_of_schemas_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| .* \| (.*) \|$", SCHEMA_CHANGES.read_text(), re.MULTILINE)[1:]
    shown_by = [re.findall(r"`(test_\w+)`", tests) for tests in rows if set(tests) != {"-"}]
    assert len(shown_by) > 10
    assert [] not in shown_by
    assert {name for tests in shown_by for name in tests} - set(names_of_tests()) == set()


def test_every_statement_about_pipeline_files_names_tests_that_exist() -> None:
    shown_by = (PROTOCOL.parent / "pipeline-file.md").read_text().split("| statement | shown by |")[1].splitlines()[2:]
    named = [re.findall(r"`(test_\w+)`", line) for line in shown_by]
    assert all(named)
    assert {name for names in named for name in names} - set(names_of_tests()) == set()


def test_every_failure_has_a_test_with_its_number() -> None:
    numbered = {
        int(number)
        for name in names_of_tests()
        for number in re.findall(r"(\d\d)_", re.match(r"test_((?:\d\d_)*)", name)[1])  # type: ignore[index]
    }
    assert FAILURES - numbered == set()
