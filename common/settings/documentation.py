"""Make the tables of docs/pipeline-file.md from the models; `make docs` writes them anew.

The meaning of a key, and an example of it, is the text below the key in its model.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from common.durations import duration
from common.settings.base import Column, Section, identifier
from common.settings.environment import home
from common.settings.kinds import KINDS
from common.settings.pipeline import Pipeline
from common.settings.registry import addresses
from common.settings.secrets import reference
from common.settings.source import kind

DOCUMENT = "docs/pipeline-file.md"
GENERATED = re.compile(r"(<!-- made from the models: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# What a text has to be, by the function that checks it.
CHECKED = {
    identifier: "name",
    kind: "[type](#types-of-columns)",
    duration: "duration: `90s`, `30m`, `12h`, `5d`",
    reference: "[secret](#secrets)",
    addresses: "URL",
}
ACCESS = ("[source.kafka]", "[source.registry]")
PLAIN = {str: "text", bool: "`true` or `false`", int: "whole number", float: "number"}


class Key(NamedTuple):
    """One key of a section."""

    name: str
    field: FieldInfo
    meaning: str
    example: str | None


def main() -> None:
    document = home() / DOCUMENT
    document.write_text(regenerated(document.read_text()))


def regenerated(text: str) -> str:
    """Make the generated parts of the document anew; the rest stays as it is written."""
    parts: dict[str, Callable[[], str]] = {"keys": key_tables, "types": type_table, "example": whole_file}
    return GENERATED.sub(lambda match: f"{match[1]}\n{parts[match[2]]()}\n\n{match[3]}", text)


def key_tables() -> str:
    return "\n\n".join(key_table(header, model) for header, model in in_order())


def in_order() -> list[tuple[str, type[Section]]]:
    """List the sections that every file has first, and access to a cluster or a registry last: few files need it."""
    return sorted(sections(), key=lambda each: each[0] in ACCESS)


def sections(model: type[Section] = Pipeline, path: str = "") -> Iterator[tuple[str, type[Section]]]:
    """List every table of a file by its header, with its model, outer tables first."""
    for key in keys_of(model):
        inner = section_of(key.field)
        if inner is None:
            continue
        header = f"{path}{key.name}"
        yield (f"[[{header}]]" if get_origin(key.field.annotation) is list else f"[{header}]"), inner
        yield from sections(inner, f"{header}.")


def section_of(field: FieldInfo) -> type[Section] | None:
    """Return the model of a key whose value is a table or a list of tables, else None."""
    candidates = [field.annotation, *get_args(field.annotation)]
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, Section)), None)


def keys_of(model: type[Section]) -> list[Key]:
    texts = texts_below(model)
    # The name of a pipeline is the name of its file.
    names = [name for name in model.model_fields if (model, name) != (Pipeline, "name")]
    return [Key(name, model.model_fields[name], *divided(texts[name])) for name in names]


def texts_below(model: type[Section]) -> dict[str, str]:
    """Read the text below each key in the model's source."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)  # noqa: S101  it is the source of a class
    texts = {}
    for declared, below in zip(body.body, body.body[1:], strict=False):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name) and is_text:
            texts[declared.target.id] = inspect.cleandoc(below.value.value)  # type: ignore[attr-defined]
    if missing := sorted(set(model.model_fields) - set(texts)):
        raise LookupError(
            f"{model.__name__}.{missing[0]}: say below the key what it means, and Example: {missing[0]} = …"
        )
    return texts


def divided(text: str) -> tuple[str, str | None]:
    meaning, _, example = text.partition("Example: ")
    return " ".join(meaning.split()), " ".join(example.split()) or None


def key_table(header: str, model: type[Section]) -> str:
    about = " ".join(inspect.cleandoc(model.__doc__ or "").split())
    rows = [
        f"| `{key.name}` | {describe_type(key.field)} | {default(key.field)} | {key.meaning} | {shown(key.example)} |"
        for key in keys_of(model)
        if section_of(key.field) is None
    ]
    return "\n".join(
        [
            f"### `{header}`",
            "",
            about,
            "",
            "| key | type | default | meaning | example |",
            "| --- | --- | --- | --- | --- |",
            *rows,
        ]
    )


def shown(example: str | None) -> str:
    # A bar would end the cell.
    return "" if example is None else f"`{example}`".replace("|", "\\|")


def default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined and field.default_factory is None:
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ([], {}):
        return "none"
    return f"`{json.dumps(value)}`"


def describe_type(field: FieldInfo) -> str:
    """Describe the type of a key in words, with the bounds of a number."""
    text = describe_annotation(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
    bounds = {name: getattr(each, name) for each in field.metadata for name in ("ge", "le") if hasattr(each, name)}
    if "le" in bounds:
        return f"{text} from {bounds['ge']} to {bounds['le']}"
    return f"{text}, at least {bounds['ge']}" if "ge" in bounds else text


def describe_annotation(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        checked = [CHECKED[each.func] for each in arguments[1:] if getattr(each, "func", None) in CHECKED]
        return checked[0] if checked else describe_annotation(arguments[0])
    if origin is Literal:
        return ", ".join(f'`"{each}"`' for each in arguments)
    if origin is list:
        return "list of columns" if arguments[0] is Column else f"list of {describe_annotation(arguments[0])}"
    if origin is dict:
        name = "column" if arguments[0] is Column else describe_annotation(arguments[0])
        return f"table: {name} = {describe_annotation(arguments[1])}"
    if arguments:
        return describe_annotation(arguments[0])  # X | None
    return PLAIN[annotation]


def type_table() -> str:
    rows = [f"| `{name}` | `{example}` | {meaning} |" for name, (example, meaning) in KINDS.items()]
    return "\n".join(["| type | JSON that it takes | what it holds |", "| --- | --- | --- |", *rows])


def whole_file() -> str:
    """Write a file with every key, from the examples."""
    parts = [section_text(header, model) for header, model in in_order()]
    return "\n".join(["```toml", "\n\n".join(part for part in parts if part), "```"])


def section_text(header: str, model: type[Section]) -> str:
    examples = [key.example for key in keys_of(model) if key.example is not None]
    return "\n".join([header, *examples]) if examples else ""


if __name__ == "__main__":
    main()
