"""The MCP memory server's file: one JSON object a line, an entity with its observations or a relation."""

from __future__ import annotations

import json
from typing import Any

from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Kind, Parsed, assemble
from minutebook.model.memories import Type
from minutebook.model.text import storable

_TYPES = {"person": Type.PROFILE, "user": Type.PROFILE, "project": Type.PROJECT, "preference": Type.PROFILE,
          "event": Type.EPISODE, "pattern": Type.PATTERN, "decision": Type.TECHNICAL}  # fmt: skip
MOST_NESTING = 64


def parse_knowledge_graph(document: Document, path: str) -> Parsed:
    drafts: list[Draft] = []
    doubts: list[Doubt] = []
    kinds: dict[int, Kind] = {}
    for number, line in enumerate(document.lines):
        if not line.strip():
            continue
        found = _object(line)
        if found is None:
            doubts.append(Doubt(number + 1, "It is not one JSON object."))
        elif found.get("type") == "relation":
            kinds[number] = Kind.LINK
        elif (draft := _entity(number, found)) is not None:
            drafts.append(draft)
        else:
            doubts.append(Doubt(number + 1, "It is neither an entity with observations nor a relation."))
    return assemble(document, Dialect.KNOWLEDGE_GRAPH, drafts, kinds=kinds, doubts=doubts)


def _object(line: str) -> dict[str, Any] | None:
    # Deeply nested text would exhaust the stack of the reader; nothing here needs to be nested at all.
    if not line.lstrip().startswith("{") or line.count("[") + line.count("{") > MOST_NESTING + line.count(
        '"'
    ):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _entity(number: int, found: dict[str, Any]) -> Draft | None:
    name, sort, said = found.get("name"), found.get("entityType"), found.get("observations")
    if found.get("type") != "entity" or not isinstance(name, str) or not isinstance(said, list):
        return None
    observations = [storable(one).strip() for one in said if isinstance(one, str) and one.strip()]
    if not observations or not name.strip():
        return None
    kind = storable(sort) if isinstance(sort, str) else ""
    of_type = _TYPES.get(kind.casefold())
    text = observations[0] if len(observations) == 1 else "\n".join(f"- {one}" for one in observations)
    return Draft(
        number, number, storable(name), text, of_type or Type.ARTIFACT,
        Certainty.LIKELY if of_type else Certainty.GUESSED,
        tags=(kind,) if kind else (), fields=[("entity", storable(name)), ("entity-type", kind)],
    )  # fmt: skip
