"""What the documents promise of the tests: every line of the protocol is shown by one, every known failure has one."""

import re
from pathlib import Path

from tests.support.names import test_ids as ids_of_tests
from tests.support.names import test_names as names_of_tests

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL, SCHEMA_CHANGES, FAILURES = DOCS / "protocol.md", DOCS / "schema-changes.md", DOCS / "failures.md"
NOT_YET = "Not yet"


def test_every_line_of_the_protocol_names_tests_that_exist() -> None:
    lines = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", PROTOCOL.read_text(), re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, 23))
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


def numbers_of(test: str) -> set[int]:
    """Read the failures that a test is about: `test_21_22_…` is about two."""
    leading = re.match(r"test_((?:\d\d_)*)", test.rpartition("::")[2])
    assert leading is not None
    return {int(number) for number in leading[1].split("_") if number}


def rows_of_failures() -> list[tuple[int, str, list[str]]]:
    """Read number, behaviour and tests of each known failure."""
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", FAILURES.read_text(), re.MULTILINE)
    return [(int(number), behaviour, re.findall(r"`([^`]+)`", tests)) for number, behaviour, tests in rows]


def test_failures_are_numbered_without_a_gap() -> None:
    rows = [line for line in FAILURES.read_text().splitlines() if re.match(r"\| *\d", line)]
    assert [number for number, *_ in rows_of_failures()] == list(range(1, len(rows) + 1))


def test_every_failure_names_tests_that_exist() -> None:
    named = {test for _, _, tests in rows_of_failures() for test in tests}
    assert named - set(ids_of_tests()) == set()


def test_every_failure_has_a_test_with_its_number() -> None:
    """Unless there is nothing yet that could fail. A test with the number of another failure is in the wrong row."""
    for number, behaviour, tests in rows_of_failures():
        numbers = [numbers_of(test) for test in tests]
        assert any(number in each for each in numbers) != behaviour.startswith(NOT_YET), number
        assert all(number in each for each in numbers if each), number


def test_every_number_in_the_name_of_a_test_is_a_known_failure() -> None:
    known = {number for number, behaviour, _ in rows_of_failures() if not behaviour.startswith(NOT_YET)}
    assert {test for test in ids_of_tests() if numbers_of(test) - known} == set()
