"""The names of all tests, read from their source: nothing is imported for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def test_ids() -> Iterator[str]:
    """Name each test as pytest does: `tests/unit/test_keys.py::test_11_nan_is_no_key`."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.relative_to(TESTS.parent).as_posix()}::{node.name}"


def test_names() -> Iterator[str]:
    for identity in test_ids():
        yield identity.partition("::")[2]


test_ids.__test__ = False  # type: ignore[attr-defined]
test_names.__test__ = False  # type: ignore[attr-defined]
