"""Show connectors for people and for machines."""

import json
from dataclasses import asdict
from typing import Any

from common.connect.health import megabytes
from common.connect.registration import Plan
from common.connect.rendering import masked
from common.connect.source import Source
from common.connect.status import Status
from common.connect.worker import State
from common.errors import AlluviumError

UNKNOWN = "unknown"


def status_lines(status: Status) -> list[str]:
    """Say how a connector is: a line for each part, then a line for each thing that is wrong."""
    facts = status.facts
    lines = [f"connector    {status.connector.name}: {state_text(facts.state)}"]
    lines += [f"task {task.number}       {task.state}" for task in (facts.state.tasks if facts.state else ())]
    lines += source_lines(status, facts.source)
    age = facts.heartbeat_age
    lines.append(f"heartbeat    {'none' if age is None else f'{age:.0f} s ago'}")
    wrong = [f"{'note' if each.is_note else 'wrong'}: {each}" for each in status.findings]
    return lines + (wrong or ["all is well"])


def state_text(state: State | None) -> str:
    return "not registered, or unknown" if state is None else state.connector


def source_lines(status: Status, source: Source | AlluviumError) -> list[str]:
    capture = status.connector.capture
    if isinstance(source, AlluviumError):
        return [f"slot         {capture.slot}: {UNKNOWN}", f"publication  {capture.publication}: {UNKNOWN}"]
    slot, publication = source.slot, source.publication
    slot_text = (
        "missing"
        if slot is None
        else f"{'active' if slot.active else 'not active'}, {megabytes(slot.kept_bytes)} of WAL kept back"
    )
    tables = [table.name for table in source.tables if not table.is_partition]
    sent = 0 if publication is None else len(publication.tables & set(tables))
    sent_text = "missing" if publication is None else f"{sent} of {len(tables)} tables"
    return [f"slot         {capture.slot}: {slot_text}", f"publication  {capture.publication}: {sent_text}"]


def status_json(status: Status) -> str:
    facts = status.facts
    source = None if isinstance(facts.source, AlluviumError) else facts.source
    content: dict[str, Any] = {
        "connector": status.connector.name,
        "state": None if facts.state is None else facts.state.connector,
        "tasks": [asdict(task) for task in (facts.state.tasks if facts.state else ())],
        "slot": None if source is None or source.slot is None else asdict(source.slot),
        "publication": None
        if source is None or source.publication is None
        else {
            "tables": sorted(source.publication.tables),
            "operations": sorted(source.publication.operations),
            "via_root": source.publication.via_root,
        },
        "tables": [] if source is None else [asdict(table) for table in source.tables],
        "heartbeat_age_seconds": facts.heartbeat_age,
        "is_well": status.exit_code == 0,
        "findings": [asdict(each) for each in status.findings],
    }
    return json.dumps(content, indent=2)


def plan_lines(plan: Plan) -> list[str]:
    """Say what `register` would do, with secrets masked."""
    return [*(f"{each};" for each in plan.statements), json.dumps(masked(plan.configuration), indent=2)]
