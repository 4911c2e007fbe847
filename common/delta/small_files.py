"""Read and write small text files on the table's own file system (local, HDFS, S3), through Hadoop's API."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from common.errors import StateError
from common.spark.jvm import hadoop_conf, java


class Files:
    """Text files below one folder."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._new_path = java(spark, "org.apache.hadoop.fs.Path")
        self._io = java(spark, "org.apache.commons.io.IOUtils")
        self._folder: Any = self._new_path(folder)
        self._fs = self._folder.getFileSystem(hadoop_conf(spark))

    def read(self, name: str) -> str | None:
        """Read a file's text; None where there is no such file."""
        try:
            stream = self._fs.open(self._path(name))
        except Py4JJavaError as error:
            if is_missing(error):
                return None
            raise
        try:
            return str(self._io.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write or replace a file, under another name that is renamed then, so that no reader sees half of it."""
        partial = self._path(f".{name}.partial")
        stream = self._fs.create(partial)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.delete(name)
        if not self._fs.rename(partial, self._path(name)):
            raise StateError(
                f"cannot write {self._path(name)}", "check the permissions and the space of its file system"
            )

    def names(self) -> list[str]:
        """List the names of all files in the folder; none where there is no folder."""
        if not self._fs.exists(self._folder):
            return []
        return sorted(str(status.getPath().getName()) for status in self._fs.listStatus(self._folder))

    def size(self, path: str) -> int | None:
        """Return the size of a file by its whole path; None for a folder, and for a file that was deleted meanwhile."""
        try:
            status = self._fs.getFileStatus(self._new_path(path))
        except Py4JJavaError as error:
            if is_missing(error):
                return None
            raise
        return int(status.getLen()) if status.isFile() else None

    def delete(self, name: str) -> None:
        self._delete(self._path(name))

    def delete_all(self) -> None:
        """Delete the folder itself, with everything below it."""
        self._delete(self._folder)

    def _delete(self, path: Any) -> None:
        recursive = True
        self._fs.delete(path, recursive)

    def _path(self, name: str) -> Any:
        return self._new_path(self._folder, name)


def is_missing(error: Py4JJavaError) -> bool:
    return bool(error.java_exception.getClass().getSimpleName() == "FileNotFoundException")
