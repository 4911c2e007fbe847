"""The way of a record through the project's files, step by step.

    make walk

A small batch goes through the real batch loop. Its way is printed, and written to docs/walk.md.
"""

import sys
import tempfile
from pathlib import Path

from tests.support.commands import ROOT
from tests.walk.page import page_of
from tests.walk.stage import steps_of_the_last_batch

PAGE = ROOT / "docs" / "walk.md"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="walk-") as folder:
        page = page_of(steps_of_the_last_batch(Path(folder)))
    PAGE.write_text(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
