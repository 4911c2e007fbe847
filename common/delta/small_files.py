"""Read and write small text files on the table's own file system (local, HDFS, S3), through Hadoop's API."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from common.errors import StateError
from common.spark.jvm import hadoop_conf, java

PATH = "org.apache.hadoop.fs.Path"


@dataclass(frozen=True)
class Files:
    """Text files below one folder."""

    spark: SparkSession
    folder: str

    @cached_property
    def _fs(self) -> Any:
        return self._path().getFileSystem(hadoop_conf(self.spark))

    def read(self, name: str) -> str | None:
        """Read a file's text; None where there is no such file."""
        try:
            stream = self._fs.open(self._path(name))
        except Py4JJavaError as error:
            if is_missing(error):
                return None
            raise
        try:
            return str(java(self.spark, "org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
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
        if not self._fs.exists(self._path()):
            return []
        return sorted(str(status.getPath().getName()) for status in self._fs.listStatus(self._path()))

    def size(self, path: str) -> int | None:
        """Return the size of a file by its whole path; None for a folder, and for a file that was deleted meanwhile."""
        try:
            status = self._fs.getFileStatus(java(self.spark, PATH)(path))
        except Py4JJavaError as error:
            if is_missing(error):
                return None
            raise
        return int(status.getLen()) if status.isFile() else None

    def delete(self, name: str) -> None:
        self._delete(self._path(name))

    def delete_all(self) -> None:
        """Delete the folder itself, with everything below it."""
        self._delete(self._path())

    def _delete(self, path: Any) -> None:
        recursive = True
        self._fs.delete(path, recursive)

    def _path(self, *names: str) -> Any:
        return java(self.spark, PATH)(self.folder, *names)


def is_missing(error: Py4JJavaError) -> bool:
    return bool(error.java_exception.getClass().getSimpleName() == "FileNotFoundException")
