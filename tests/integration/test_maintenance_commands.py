"""The commands as they are typed: a table from its file, kept healthy by its pipeline's name."""

from pathlib import Path

import pytest

from common.errors import UsageError
from tests.support.commands import clean_environment, complaints, run
from tests.support.pipeline_files import PIPELINE_AT
from tests.support.remedies import type_command


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_table_is_created_and_maintained_by_its_pipelines_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One script is typed, and one target of the Makefile; the other commands are run in this process."""
    table, file = tmp_path / "movie_ratings", tmp_path / "ratings.toml"
    file.write_text(PIPELINE_AT.format(path=table))
    environment = {"ALLUVIUM_PIPELINES": str(tmp_path), "ALLUVIUM_LOG_DIR": str(tmp_path / "log")}
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path))

    def typed(command: str) -> tuple[int, list[str]]:
        done = run(command.split(), environment=clean_environment(**environment))
        return done.returncode, [*done.stdout.splitlines(), *complaints(done)]

    def said(command: str) -> list[str]:
        capsys.readouterr()
        type_command(command.split())
        return capsys.readouterr().out.splitlines()

    created = f"Created {table} for pipeline 'ratings', without rows"
    assert typed("submit/create_table.sh ratings") == (0, [created])
    unchanged = "Nothing was changed; --execute does it."
    compact = "make --no-print-directory compact-small-files PLAN=1"
    assert typed(compact) == (0, [f"{table}: nothing to compact", unchanged])
    kept = "everything of the last 168 hours is kept"
    assert said("submit/maintenance.sh vacuum --pipeline ratings") == [
        f"{table}: 0 files, 0 bytes are no longer needed; {kept}",
        unchanged,
    ]
    with pytest.raises(UsageError, match=f"--retain 0h is less than the 168h for which {table} keeps files"):
        said("submit/maintenance.sh vacuum --retain 0h --execute --pipeline ratings")
    (line,) = said("submit/maintenance.sh checkpoint --pipeline ratings")
    assert line.startswith(f"{table}: checkpoint of version 0 written in ")
    file.write_text(PIPELINE_AT.format(path=table).replace('id = "bigint"', 'id = "string"'))
    with pytest.raises(UsageError, match="does not fit pipeline 'ratings': column 'id' is bigint, not string; correct"):
        said(f"submit/create_table.sh ratings {table}")
