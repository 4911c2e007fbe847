"""The pyspark shell: the pipelines' tables by name, beside a job that writes to them."""

import subprocess
import threading
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.errors import UsageError
from common.settings.table_paths import chosen_table, named_tables
from common.spark.jvm import java
from tests.support.commands import ROOT, clean_environment, run
from tests.support.pipeline_files import PIPELINE_AT

QUESTIONS = """\
spark.read.table("movie_ratings").orderBy("id").show()
spark.sql("SELECT count(*) AS turned_away FROM movie_ratings_quarantine").show()
"""
# With the class path of every job: Kernel needs a class beside Spark's own to read a checkpoint.
OF_A_CHECKPOINT = """\
from pyspark.sql import types as T
from common.rules.pruning import PruneBound, Range
from common.delta.candidate_files import FileSkipping
print("candidates:", len(list(FileSkipping(spark, "{}").files(0, [PruneBound("id", "bigint", [Range(2, 2)], False)]))))
"""


@pytest.fixture
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "pipelines"
    folder.mkdir()
    (folder / "ratings.toml").write_text(PIPELINE_AT.format(path=tmp_path / "movie_ratings"))
    (folder / "planned.toml").write_text(PIPELINE_AT.format(path=tmp_path / "not_there_yet"))
    (folder / "homeless.toml").write_text(PIPELINE_AT.format(path="x").replace('path = "x"\n', ""))
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(folder))
    return folder


def test_tables_have_the_names_of_their_folders(pipelines: Path, tmp_path: Path) -> None:
    assert {name: str(table) for name, table in named_tables().items()} == {
        "movie_ratings": f"{tmp_path}/movie_ratings",
        "not_there_yet": f"{tmp_path}/not_there_yet",
    }
    assert str(chosen_table(None, "ratings")) == f"{tmp_path}/movie_ratings"
    assert str(chosen_table(f"{tmp_path}/other", "ratings")) == f"{tmp_path}/other"
    with pytest.raises(UsageError, match=r"say DELTA_DIR, or add target\.path"):
        chosen_table(None, "homeless")
    with pytest.raises(UsageError, match="say DELTA_DIR, or --pipeline"):
        chosen_table(None, None)


def test_a_relative_path_is_relative_to_the_project(pipelines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pipelines)
    (pipelines / "ratings.toml").write_text(PIPELINE_AT.format(path="var/tables/movie_ratings"))
    assert str(chosen_table(None, "ratings")) == str(ROOT / "var" / "tables" / "movie_ratings")


@pytest.mark.slow
def test_a_table_is_read_by_name_beside_a_running_writer(spark: SparkSession, pipelines: Path, tmp_path: Path) -> None:
    """Twice at once: a metastore of Spark's own would let in one of them only."""
    table, stop = str(tmp_path / "movie_ratings"), threading.Event()
    spark.range(3).coalesce(1).write.format("delta").save(table)
    java(spark, "org.apache.spark.sql.delta.DeltaLog").forTable(spark._jsparkSession, table).checkpoint()
    spark.range(2).write.format("delta").save(f"{table}_quarantine")

    def write() -> None:
        while not stop.wait(1):
            spark.range(3, 4).write.format("delta").mode("append").save(table)

    said = {"ALLUVIUM_PIPELINES": str(pipelines), "ALLUVIUM_LOG_DIR": str(tmp_path / "log")}
    writer = threading.Thread(target=write)
    writer.start()
    try:
        shells = [
            subprocess.Popen(
                [f"{ROOT}/submit/pyspark.sh"],
                cwd=tmp_path,
                env=clean_environment(**said),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        questions = QUESTIONS + OF_A_CHECKPOINT.format(table)
        answers = [shell.communicate(questions, timeout=200) for shell in shells]
    finally:
        stop.set()
        writer.join()
    for shell, (answer, complaint) in zip(shells, answers, strict=True):
        assert shell.returncode == 0, complaint
        assert "Tables: movie_ratings, movie_ratings_quarantine\n" in answer
        assert "|  2|\n|  3|" in answer, complaint
        assert "|          2|" in answer, complaint
        assert "candidates: 1\n" in answer, complaint
    operations = {row["operation"] for row in DeltaTable.forPath(spark, table).history().collect()}
    assert operations == {"WRITE"}, "a shell has written to the table"
    assert {entry.name for entry in tmp_path.iterdir()} <= {
        "movie_ratings",
        "movie_ratings_quarantine",
        "pipelines",
        "log",
    }


def test_the_shell_says_what_it_is_without_starting_spark() -> None:
    done = run(["submit/pyspark.sh", "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    assert 'spark.read.table("NAME")' in done.stdout
    refused = run(["submit/pyspark.sh", "script.py"])
    assert (refused.returncode, refused.stderr) == (2, "error: the shell takes no argument 'script.py'; see --help\n")
