"""The page of a walk, docs/walk.md: what was counted, the numbers, and every step."""

from collections.abc import Sequence

from tests.walk.stage import BATCHES, LAST_POINT, LEFT_OUT, RECORDS
from tests.walk.steps import Move, Step, calls, count_hops, in_order, openings, step_lines, with_ways_back


def page_of(steps: Sequence[Step]) -> str:
    opened = count_hops(openings(steps))
    return f"""\
# The way of a record

Written by `make walk`: the functions that one small batch goes through, in the order in which a reader meets them.

**{opened.hops} hops through {opened.files} files, {opened.returns} of them returns; {len(steps)} steps.**

## What is counted

An embedded broker has {BATCHES * RECORDS} records of the pipeline *temperatures*. The job `streaming_merge`, in batch
mode, settles them in {BATCHES} batches of {RECORDS}: nine new hours each, and one correction of an hour that the table
has. The last batch is traced, from the fault point `{LAST_POINT}` of the batch before it to its own. What a run does
once is over by then.

- A **step** is a function of `common/` that this batch enters for the first time. A second call of it is no step. A
  lambda or a comprehension is no step: it is read where it stands.
- A **hop** is a step for which a reader opens another file: neither that of the caller nor that of the step before. The
  way back to the caller is no hop.
- A **return** is a hop into a file that the reader has seen before.
- Left out are {_listed(sorted(LEFT_OUT))}, and what they call: no record goes through them. What Spark
  does in its JVM is not seen.

These are the numbers to go by. Other ways to count the same steps:

| a hop is | hops | returns |
| --- | ---: | ---: |
{_other("a step that another file calls", calls(steps))}
{_other("a step in another file than the step before", in_order(steps))}
{_other("the same, with every way back to the caller before a call", with_ways_back(steps))}

Pools of threads do their work in the caller's thread here, so that the order is always the same.

## The steps

Each line has the file in `common/`, the function, and the first line of its docstring, indented by the depth of the
call. → is a hop, ↩ a hop that is a return.

```text
{chr(10).join(step_lines(steps))}
```
"""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:-1]) + f" and `{names[-1]}`"


def _other(hop: str, moves: Sequence[Move]) -> str:
    counted = count_hops(moves)
    return f"| {hop} | {counted.hops} | {counted.returns} |"
