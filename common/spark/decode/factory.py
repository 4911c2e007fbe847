"""Build the decoder that a pipeline's file asks for."""

from pyspark.sql import SparkSession

from common.registry.subject import Subject
from common.settings.pipeline import Pipeline
from common.settings.registry import Registry
from common.spark.decode.avro import AvroDecoder
from common.spark.decode.avro_reader import Reader
from common.spark.decode.avro_writers import Writers
from common.spark.decode.decoder import Decoder
from common.spark.decode.json import JsonDecoder


def decoder_of(spark: SparkSession, pipeline: Pipeline, *, patience_seconds: float | None = None) -> Decoder:
    source = pipeline.source
    if source.registry is None:
        return JsonDecoder.of(source)
    writers = writers_of(spark, source.registry, source.columns, patience_seconds)
    return AvroDecoder(source.columns, source.max_record_bytes, writers)


def writers_of(
    spark: SparkSession, registry: Registry, columns: dict[str, str], patience_seconds: float | None = None
) -> Writers:
    """Build the writer schemas. The reader's schema is known first, because most topics are written by it."""
    subject = Subject.of(registry, patience_seconds)
    registered = subject.version(registry.version)
    which = f"version {registry.version}" if registry.version else "the latest version"
    writers = Writers(subject, Reader.of(spark, registered, columns, f"{which} of subject '{subject.name}'"))
    writers.learn(registered)
    return writers
