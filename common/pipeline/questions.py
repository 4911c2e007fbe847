"""What the accounts ask of a batch: of a few records in the very job that reads them, of many in a query of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.account.keys import an_unclear_key, unclear_of, with_rivals
from common.account.tally import PartitionTally, count_fates, each_fate, tally, tally_of_each
from common.ask import Answer, Watch, ask, in_words
from common.divide.fate import FATE, MERGE
from common.merge.bounds import Kinds, kinds_of, spans_of
from common.pipeline.few import FEW_RECORDS
from common.plan.offsets import Plan
from common.settings.pipeline import Pipeline


@dataclass(frozen=True)
class Answers:
    """Of each partition its tally, at most one key that is not clear, and the spans of the prune columns."""

    tally: Mapping[int, PartitionTally]
    unclear: Sequence[Answer]
    spans: Answer
    kinds: Kinds


@dataclass(frozen=True)
class Materialised:
    """Rows that were read once, and what there is to be said of all of them."""

    rows: DataFrame
    answers: Callable[[], Answers]


def materialised(judged: DataFrame, pipeline: Pipeline, planned: Plan) -> Materialised:
    if planned.records <= FEW_RECORDS:
        return watched(judged, pipeline)
    rows = judged.localCheckpoint()
    return Materialised(rows, lambda: asked(rows, pipeline))


def asked(rows: DataFrame, pipeline: Pipeline) -> Answers:
    kinds = kinds_of(rows.schema, pipeline.target.prune_by)
    questions = {"fates": count_fates(rows, pipeline), "unclear": an_unclear_key(rows, pipeline)}
    if kinds:
        questions["spans"] = rows.agg(spans_to_merge(kinds).alias("spans"))
    found = ask(questions)
    spans = found["spans"][0]["spans"] if kinds else {}
    return Answers(tally(found["fates"]), found["unclear"], spans, kinds)


def watched(judged: DataFrame, pipeline: Pipeline) -> Materialised:
    watch, schema = Watch(), judged.schema
    kinds = kinds_of(schema, pipeline.target.prune_by)
    passing = watch.on(with_rivals(judged, pipeline), all_answers(pipeline, kinds)).select(*schema.names)
    return Materialised(passing.localCheckpoint(), lambda: read_off(watch.answer(), kinds))


@cache
def all_answers(pipeline: Pipeline, kinds: Kinds) -> Column:
    fates, unclear, spans = each_fate(pipeline), unclear_of(pipeline), spans_to_merge(kinds)
    return in_words(fates.alias("fates"), unclear.alias("unclear"), spans.alias("spans"))


@cache
def spans_to_merge(kinds: Kinds) -> Column:
    return spans_of(kinds, F.col(FATE) == MERGE)


def read_off(found: Answer, kinds: Kinds) -> Answers:
    unclear = [found["unclear"]] if "unclear" in found else []
    return Answers(tally_of_each(found["fates"]), unclear, found["spans"], kinds)
