"""Directories that appear whole or not at all."""

import fcntl
import os

import pytest

from common.errors import AlluviumError, Locked, UsageError
from datasets.directory import MANIFEST, check_free, is_made_of, written_whole


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_directory_appears_at_the_end_with_all_its_files(tmp_path):
    out = tmp_path / "a" / "out"
    with written_whole(out) as folder:
        (folder / "x").write_text("1")
        assert not out.exists()
    assert (out / "x").read_text() == "1"
    assert names(out.parent) == ["out"]


def test_a_failure_leaves_what_was_there(tmp_path):
    out = tmp_path / "out"
    with written_whole(out) as folder:
        (folder / "x").write_text("old")
    with pytest.raises(ZeroDivisionError), written_whole(out) as folder:
        (folder / "x").write_text(str(1 / 0))
    assert (out / "x").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_nothing_of_a_replaced_directory_remains(tmp_path):
    out = tmp_path / "out"
    for name in ("old", "new"):
        with written_whole(out) as folder:
            (folder / name).touch()
    assert names(out) == ["new"]
    assert names(tmp_path) == ["out"]


def test_what_a_killed_run_left_is_cleared(tmp_path):
    left = tmp_path / ".out.partial"
    (left / "base").mkdir(parents=True)
    (left / "base" / "half").touch()
    (left / "half").touch()
    with written_whole(tmp_path / "out") as folder:
        assert names(folder) == []
    assert names(tmp_path) == ["out"]


def test_two_at_once_do_not_mix(tmp_path):
    living = tmp_path / ".out.partial"
    living.mkdir()
    (living / "mine").touch()
    descriptor = os.open(living, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(Locked), written_whole(tmp_path / "out"):
            pytest.fail("the folder is another's")
    finally:
        os.close(descriptor)
    assert names(living) == ["mine"]


def test_a_full_disk_is_one_line_with_a_remedy(tmp_path):
    with pytest.raises(AlluviumError) as failed, written_whole(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    assert failed.value.exit_code == 1
    assert "No space left on device" in failed.value.message
    assert names(tmp_path) == []


def test_an_existing_directory_is_not_touched_without_being_told(tmp_path):
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(UsageError):
        check_free(tmp_path, overwrite=False)
    check_free(tmp_path, overwrite=True)
    check_free(tmp_path / "absent", overwrite=False)


def test_what_no_generator_made_is_never_overwritten(tmp_path):
    (tmp_path / "letters").touch()
    with pytest.raises(UsageError):
        check_free(tmp_path, overwrite=True)
    with pytest.raises(UsageError):
        check_free(tmp_path / "letters", overwrite=True)


@pytest.mark.parametrize("manifest", ["", "[]", '{"seed": 2}', '{"scale": 1}'])
def test_only_the_same_parameters_are_the_same_dataset(tmp_path, manifest):
    (tmp_path / MANIFEST).write_text(manifest)
    assert not is_made_of(tmp_path, {"seed": 1})
    (tmp_path / MANIFEST).write_text('{"seed": 1, "rows": 5}')
    assert is_made_of(tmp_path, {"seed": 1})
