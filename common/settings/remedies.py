"""Commands that an error prints as its remedy: whole, with what the running job was told, ready to be typed.

Words in capitals stand for what a job is told, as in the help text: DELTA_DIR, BROKERS, TOPIC, PIPELINE, INPUT_DIR, and
COMMAND for the whole command line of this job. A word that this job was not told stays, for the reader to fill in.
"""

import shlex

from common.settings.environment import given_environment

ALTER = "submit/alter_table.sh --execute DELTA_DIR"
CREATE = "submit/create_table.sh PIPELINE DELTA_DIR"
THIS_MACHINE = {"127.0.0.1", "localhost", "[::1]", "::1"}

_told: dict[str, tuple[str, ...]] = {}


def forget() -> None:
    """Forget the arguments of a former job: a process of tests runs many."""
    _told.clear()


def tell(**words: str | tuple[str, ...]) -> None:
    """Remember what this job was told, for the whole process: batches of a stream run in a thread of their own."""
    _told.update({name: (said,) if isinstance(said, str) else said for name, said in words.items()})


def command(text: str) -> str:
    """The command with the job's own arguments, quoted for a shell."""
    words = [word for name in shlex.split(text) for word in _told.get(name, (name,))]
    environment = given_environment()
    if environment is not None and words[0].startswith("submit/"):
        words[1:1] = ["--env", environment]
    return shlex.join(words)


def again(*more: str) -> str:
    """The command line of this job with more options; of an option that stands twice, the last counts."""
    return command(shlex.join(["COMMAND", *more]))


def new_epoch(at: str, *more: str) -> str:
    """The command that says where to go on: `table`, `beginning` or `end`."""
    options = " ".join(["--at", at, *more, "--execute"])
    return command(f"submit/epoch.sh {options} --pipeline PIPELINE DELTA_DIR BROKERS TOPIC")


def alter(table: str, *clauses: str) -> str:
    """The command that alters a table by these clauses of ALTER TABLE."""
    return command(f"{ALTER.replace('DELTA_DIR', shlex.quote(table))} {shlex.join(clauses)}")


def create(pipeline: str, table: str) -> str:
    """The command that creates an empty table for a pipeline, in another folder than the job was told."""
    return command(CREATE.replace("PIPELINE", pipeline).replace("DELTA_DIR", shlex.quote(table)))


def services(*words: str) -> str:
    """A command for the embedded services."""
    return command(shlex.join(["kafka_docker/services", *words]))


def start_service(name: str, host: str, port: int) -> str | None:
    """The command that starts an embedded service at this address; None where another machine would have to."""
    return services("start", name, "--port", str(port)) if host in THIS_MACHINE else None
