"""ClassArchive: load the classes that every job loads, so that the JVM can archive them for the next jobs."""

import tempfile

import click
from delta.tables import DeltaTable

from common.cli import job
from common.spark.session import start_session


@job("class_archive")
@click.command()
def main() -> None:
    """Write and merge a table of a few rows; submit/class_archive.sh has the JVM write its classes down at the end."""
    spark = start_session("ClassArchive")
    with tempfile.TemporaryDirectory() as folder:
        spark.range(9).selectExpr("id", "'a' AS text", "id % 2 AS part").write.format("delta").partitionBy("part").save(
            folder
        )
        changes = spark.range(5, 15).selectExpr("id", "'b' AS text", "id % 2 AS part").localCheckpoint()
        table = DeltaTable.forPath(spark, folder)
        merge = table.alias("t").merge(changes.alias("s"), "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        table.toDF().groupBy("part").count().collect()


if __name__ == "__main__":
    main()
