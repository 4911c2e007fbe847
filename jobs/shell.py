"""The pyspark shell, with the tables of the pipelines by name.

`spark` is there, and so is each table of conf/pipelines that has a path and exists, with its side tables:
spark.read.table("NAME"), spark.sql("SELECT … FROM NAME"). The names are this process's own: no metastore is shared, so
any number of shells may run beside any number of jobs.
"""

import sys

if sys.argv[1:] == ["--help"]:
    print(f"Usage: pyspark.sh [--env local|standalone]\n\n{__doc__}", end="")
else:
    from common.present.register_tables import announce_tables
    from common.spark.session import start_session

    announce_tables(start_session("PySpark"))
