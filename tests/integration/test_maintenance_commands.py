"""The commands as they are typed: a table from its file, kept healthy by its pipeline's name."""

from pathlib import Path

import pytest

from tests.support.commands import clean_environment, complaints, run
from tests.support.pipeline_files import PIPELINE_AT


@pytest.mark.slow
def test_a_table_is_created_and_maintained_by_its_pipelines_name(tmp_path: Path) -> None:
    table, file = tmp_path / "movie_ratings", tmp_path / "ratings.toml"
    file.write_text(PIPELINE_AT.format(path=table))
    environment = clean_environment(ALLUVIUM_PIPELINES=str(tmp_path), ALLUVIUM_LOG_DIR=str(tmp_path / "log"))

    def said(command: str) -> tuple[int, list[str]]:
        done = run(command.split(), environment=environment)
        return done.returncode, [*done.stdout.splitlines(), *complaints(done)]

    created = f"Created {table} for pipeline 'ratings', without rows"
    assert said("submit/create_table.sh ratings") == (0, [created])
    unchanged = "Nothing was changed; --execute does it."
    compact = "make --no-print-directory compact-small-files PLAN=1"
    assert said(compact) == (0, [f"{table}: nothing to compact", unchanged])
    kept = "everything of the last 168 hours is kept"
    assert said("submit/maintenance.sh vacuum --pipeline ratings") == (
        0,
        [f"{table}: 0 files, 0 bytes are no longer needed; {kept}", unchanged],
    )
    code, lines = said("submit/maintenance.sh vacuum --retain 0h --execute --pipeline ratings")
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith(f"error: --retain 0h is less than the 168h for which {table} keeps files")
    code, lines = said("submit/maintenance.sh checkpoint --pipeline ratings")
    assert (code, len(lines)) == (0, 1)
    assert lines[0].startswith(f"{table}: checkpoint of version 0 written in ")
    file.write_text(PIPELINE_AT.format(path=table).replace('id = "bigint"', 'id = "string"'))
    code, lines = said(f"submit/create_table.sh ratings {table}")
    assert (code, len(lines)) == (2, 1)
    assert "does not fit pipeline 'ratings': column 'id' is bigint, not string; correct the pipeline's file" in lines[0]
