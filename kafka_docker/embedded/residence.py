"""Find a folder for a server that must not run as root: one that the server's account can reach."""

import hashlib
import os
import pwd
import stat
import subprocess
from pathlib import Path

from kafka_docker.embedded.errors import FolderUnusable, ServiceError
from kafka_docker.embedded.process import Account

# Everybody can reach this folder, and unlike /tmp it survives a restart of the machine.
SHARED = Path("/var/tmp")  # noqa: S108


def account_instead_of_root(name: str) -> Account:
    """Return our own account, or the named one where we are root."""
    if os.geteuid() != 0:
        return Account()
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ServiceError(
            f"PostgreSQL refuses to run as root, and there is no account {name}", "be another user"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def reachable_folder(folder: Path, account: Account) -> Path:
    """Return the folder itself if the account can enter it, else one elsewhere that belongs to this folder alone.

    Below /root, and in any other private folder, only root gets through.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if account.uid is None or _can_enter(folder, account):
        return folder
    digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return _own_folder(SHARED / f"alluvium-{digest}")


def hand_over(path: Path, account: Account) -> None:
    if account.uid is not None and account.gid is not None:
        os.chown(path, account.uid, account.gid)


def _can_enter(folder: Path, account: Account) -> bool:
    # The system itself is asked, because access lists and mounts count besides the modes.
    script = 'cd -- "$1"'
    asked = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(folder)],
        user=account.uid,
        group=account.gid,
        extra_groups=account.groups,
        cwd="/",
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return asked.returncode == 0


def _own_folder(path: Path) -> Path:
    """Make a folder that is ours. Refuse one that somebody else made, because anybody may write to the folder above."""
    path.mkdir(mode=0o711, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise FolderUnusable(f"{path} was made by somebody else", "delete it")
    path.chmod(0o711)
    return path
