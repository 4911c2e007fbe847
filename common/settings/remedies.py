"""Commands that an error prints as its remedy: whole, with the arguments of the running job, ready to be typed.

Words in capitals are placeholders for arguments, as in the help text: DELTA_DIR, BROKERS, TOPIC, PIPELINE, INPUT_DIR,
and COMMAND for the whole command line of this job. A word without an argument stays, for the reader to fill in.
"""

import shlex

from common.settings.environment import given_environment

ALTER = "submit/alter_table.sh --execute DELTA_DIR"
CREATE = "submit/create_table.sh PIPELINE DELTA_DIR"
THIS_MACHINE = {"127.0.0.1", "localhost", "[::1]", "::1"}

_arguments: dict[str, tuple[str, ...]] = {}


def forget() -> None:
    """Forget the arguments of a former job, because a test process runs many jobs."""
    _arguments.clear()


def tell(**words: str | tuple[str, ...]) -> None:
    """Remember this job's arguments for the whole process, because a stream's batches run in another thread."""
    _arguments.update({name: (value,) if isinstance(value, str) else value for name, value in words.items()})


def command(text: str) -> str:
    """Fill in the job's own arguments, and quote the command for a shell."""
    words = [word for name in shlex.split(text) for word in _arguments.get(name, (name,))]
    environment = given_environment()
    if environment is not None and words[0].startswith("submit/"):
        words[1:1] = ["--env", environment]
    return shlex.join(words)


def again(*more: str) -> str:
    """Return the command line of this job with more options. Where an option is given twice, the last one counts."""
    return command(shlex.join(["COMMAND", *more]))


def new_epoch(at: str, *more: str) -> str:
    """Return the command that begins a new epoch at `table`, `beginning` or `end`."""
    options = " ".join(["--at", at, *more, "--execute"])
    return command(f"submit/epoch.sh {options} --pipeline PIPELINE DELTA_DIR BROKERS TOPIC")


def alter(table: str, *clauses: str) -> str:
    """Return the command that alters a table by these clauses of ALTER TABLE."""
    return command(f"{ALTER.replace('DELTA_DIR', shlex.quote(table))} {shlex.join(clauses)}")


def create(pipeline: str, table: str) -> str:
    """Return the command that creates an empty table for a pipeline, in another folder than this job's."""
    return command(CREATE.replace("PIPELINE", pipeline).replace("DELTA_DIR", shlex.quote(table)))


def services(*words: str) -> str:
    """Return a command for the embedded services."""
    return command(shlex.join(["kafka_docker/services", *words]))


def start_service(name: str, host: str, port: int) -> str | None:
    """Return the command that starts an embedded service at this address; None for an address of another machine."""
    return services("start", name, "--port", str(port)) if host in THIS_MACHINE else None
