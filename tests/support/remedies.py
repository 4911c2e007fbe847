"""The commands that an error prints, and running them as they are printed."""

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.cli import invoke
from tests.support.commands import ROOT, clean_environment, run

# What a remedy is composed with, and the functions that only compose one for others to raise.
COMPOSERS = {"command", "again", "new_epoch", "alter", "create", "services", "start_service"}
WORDING = {"see_list", "start_broker", "start_registry"}
BETWEEN = re.compile(r", or | or (?=submit/)|, then |, load one with | and load |; ")
PROGRAM = re.compile(r"(submit/\w+\.sh|kafka_docker/services|\.venv/bin/python) .*")


def printed_commands(line: str) -> list[list[str]]:
    """Every command of an error's line, in words, as a shell would divide them."""
    found = [PROGRAM.search(part) for part in BETWEEN.split(line)]
    return [shlex.split(match[0].rstrip(":")) for match in found if match is not None]


def type_command(words: list[str], **environment: str) -> str:
    """Run a command: a job of ours in this process, with its Spark session, another one as a process of its own."""
    job = re.fullmatch(r"submit/(\w+)\.sh", words[0])
    if job is not None:
        main: Any = importlib.import_module(f"jobs.{job[1]}").main
        invoke(getattr(main, "__wrapped__", main), job[1], words[1:])
        return ""
    done = run(words, environment=clean_environment(**environment))
    assert done.returncode == 0, done.stderr
    return done.stdout


def sites() -> Iterator[str]:
    """Every function, as MODULE:FUNCTION, that prints a command as a remedy."""
    for file, tree in sources():
        composing = (imported(tree, "common.settings.remedies") & COMPOSERS) | WORDING
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name not in WORDING]
        yield from (f"{module_of(file)}:{each.name}" for each in functions if called_by(each) & composing)


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("common", "jobs", "kafka_docker"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file, ast.parse(file.read_text())


def imported(tree: ast.Module, module: str) -> set[str]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module]
    return {alias.name for node in found for alias in node.names}


def called_by(function: ast.FunctionDef) -> set[str]:
    """The names that a function calls itself; those of functions inside of it are theirs."""
    inner = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and node is not function]
    skipped = {id(node) for each in inner for node in ast.walk(each)}
    nodes = (node for node in ast.walk(function) if id(node) not in skipped)
    # A composer may also be passed on: map(new_epoch, …).
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def literal_commands() -> Iterator[str]:
    """Texts that name a script of submit/ or the services; docstrings, of keys too, are for readers of the source."""
    for file, tree in sources():
        nodes = list(ast.walk(tree))
        documenting = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in documenting]
        for text in texts:
            if isinstance(text, str) and re.search(r"submit/\w+\.sh|kafka_docker/services\b", text):
                yield f"{module_of(file)}: {text}"


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


def raised_in(error: BaseException) -> str:
    """The function that raised an error, as MODULE:FUNCTION."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{module_of(Path(trace.tb_frame.f_code.co_filename))}:{trace.tb_frame.f_code.co_name}"
