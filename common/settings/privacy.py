"""Files that name keys or show parts of records. Only their owner may read them, whatever the umask.

Logs and run reports are such files. Tables are not: their files get the umask of whoever runs the job.
"""

import os
from pathlib import Path
from typing import Literal, TextIO

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def open_private(path: str | Path, mode: Literal["w", "a"]) -> TextIO:
    """Open a file to write anew or to append to.

    A file that exists keeps its permissions, because an operator may have changed them on purpose.
    """
    how = os.O_APPEND if mode == "a" else os.O_TRUNC
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | how, FILE_MODE), mode, encoding="utf-8")
