"""The decoder that a pipeline's file asks for."""

from pyspark.sql import SparkSession

from common.decode.decoder import Decoder
from common.decode.json import JsonDecoder
from common.settings.pipeline import Pipeline


def decoder_of(spark: SparkSession, pipeline: Pipeline) -> Decoder:  # noqa: ARG001
    return JsonDecoder.of(pipeline.source)
