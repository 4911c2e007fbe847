"""The glossary: sorted, each word once, and no word both used and given up."""

import re
from pathlib import Path

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
NONE = "–"


def rows() -> list[list[str]]:
    """Read the cells of each row, without the two lines of the heading."""
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("|")]
    return [line.strip("|").strip().split(" | ") for line in lines[2:]]


def words() -> list[str]:
    return [row[0] for row in rows()]


def test_every_row_has_a_word_a_meaning_and_both_other_columns() -> None:
    assert len(rows()) > 50
    assert [row for row in rows() if len(row) != 4 or not all(row)] == []
    assert [word for word, meaning, *_ in rows() if not re.fullmatch(r"[A-Z].*\.", meaning)] == []


def test_words_are_sorted() -> None:
    assert words() == sorted(words(), key=str.casefold)


def test_each_word_stands_once() -> None:
    assert len({word.casefold() for word in words()}) == len(words())


def test_no_word_is_both_used_and_given_up() -> None:
    given_up = [word for *_, former in rows() if former != NONE for word in former.split(", ")]
    assert len(given_up) == len(set(given_up))
    assert set(given_up) & set(words()) == set()
