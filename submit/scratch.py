"""Lock this run's scratch folder, and remove those of jobs that are dead.

    scratch.py FOLDER DESCRIPTOR

The descriptor is an open one of FOLDER/lock that the caller keeps: a lock belongs to what was opened, not to a process,
and ends with the last process that has it open. So it outlives this script, and nothing outlives a killed job.
"""

import fcntl
import shutil
import sys
import time
from pathlib import Path

LOCK = "lock"
# Between making its folder and locking it, a job that starts would look dead.
YOUNG_SECONDS = 60


def main(folder: Path, descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for other in folder.parent.iterdir():
        if other != folder and is_dead(other):
            # Folders of another user's jobs stay, for that user to remove.
            shutil.rmtree(other, ignore_errors=True)


def is_dead(folder: Path) -> bool:
    """True for a folder with a lock file that nobody holds and that is not young."""
    try:
        with (folder / LOCK).open("rb") as lock:
            if time.time() - (folder / LOCK).stat().st_mtime < YOUNG_SECONDS:
                return False
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
