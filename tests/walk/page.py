"""The page of a walk, docs/walk.md: what was counted, the numbers, and every step."""

from collections.abc import Sequence

from tests.walk.stage import BATCHES, LAST_POINT, LEFT_OUT, RECORDS
from tests.walk.steps import Step, count_hops, files_entered, files_read, step_lines


def page_of(steps: Sequence[Step]) -> str:
    entered, read = count_hops(files_entered(steps)), count_hops(files_read(steps))
    return f"""\
# The way of a record

Written by `make walk`: the functions that one small batch goes through, in the order in which a reader meets them.

**{entered.hops} hops through {entered.files} files, {entered.returns} of them returns; {len(steps)} steps.**

## What is counted

An embedded broker has {BATCHES * RECORDS} records of the pipeline *temperatures*. The job `streaming_merge`, in batch
mode, settles them in {BATCHES} batches of {RECORDS}: nine new hours each, and one correction of an hour that the table
has. The last batch is traced, from the fault point `{LAST_POINT}` of the batch before it to its own. What a run does
once is over by then.

- A **step** is a function of `common/` that this batch enters for the first time. A second call of it is no step. A
  lambda or a comprehension is no step: it is read where it stands.
- A **hop** is a step in another file than the step before.
- A **return** is a hop into a file that was left before.
- Going back to the caller after a call is not counted. A reader who goes back after every call, and only then into the
  next one, makes {read.hops} hops, {read.returns} of them returns.
- Left out are {_listed(sorted(LEFT_OUT))}: no record goes through them. What Spark does in its JVM is
  not seen.

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
