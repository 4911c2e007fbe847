"""What a user reads of an error: one line, never cut in the midst of a word."""

from common.errors import shortened


def test_a_text_that_is_too_long_ends_with_a_word_and_says_that_it_was_cut() -> None:
    assert shortened("zip() argument 2 is longer", 26) == "zip() argument 2 is longer"
    assert shortened("zip() argument 2 is longer than argument 1", 23) == "zip() argument 2 is…"
    assert shortened("Query [id = 7], terminated", 16) == "Query [id = 7]…"
    assert shortened("x" * 10, 4) == "xxxx…"
