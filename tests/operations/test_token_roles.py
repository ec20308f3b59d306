"""Every operation with a token of every role: in its own project, in another one, and in every one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minutebook.model.actors import Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import actors, decisions, inbox, memories, sessions, tokens
from minutebook.operations.parameters import unwrap
from minutebook.operations.registry import REGISTRY, Access, Operation
from tests.houses import House
from tests.operations.bearing import Bearer, bearer
from tests.operations.test_roles import ALLOWED, OPERATIONS, plausible

#: What concerns the whole ledger, and so is not for a token of one project, whatever its role.
WHOLE_LEDGER = {
    "system.backup", "system.import", "system.reindex", "projects.create", "projects.link",
    "providers.enable", "providers.disable",
}  # fmt: skip
ROLES = {"jones": Role.VIEWER, "ripley": Role.AGENT, "dallas": Role.COORDINATOR, "kane": Role.OPERATOR}
#: Answers to who may not ask, or to a defect of ours.
TURNED_AWAY = {"not_allowed", "bad_token", "other_project", "other_agent", "internal"}
#: What nobody in Nostromo may ever read.
CANARY = "xenomorph"


@pytest.fixture
def ship(house: House) -> House:
    """Nostromo and Sulaco, an operator that is registered, and something of each kind in Sulaco."""
    house.mother(actors.add, name="Kane", role="operator")
    house.new_project("Sulaco")
    there = house.as_("Mother", project="sulaco")
    said: dict[str, Any] = {"title": CANARY, "content": f"A {CANARY} is on board.", "rationale": CANARY}
    there(decisions.write, type="scope", slug=CANARY, **said)
    there(memories.write, type="project", slug=f"{CANARY}-2", content=f"The {CANARY} has acid for blood.")
    there(memories.retire, ref=f"{CANARY}-2", reason=f"the {CANARY} left")
    house.as_("Ripley", project="sulaco")(inbox.submit, type="process", slug=f"{CANARY}-3", **said)
    there(sessions.start, focus=f"hunt the {CANARY}", session=CANARY)
    there(actors.add, name=f"Hunter of {CANARY}", bound_to="sulaco")
    there(tokens.create, agent=f"hunter of {CANARY}", note=CANARY)
    return house


def arguments_for(operation: Operation, folder: Path) -> dict[str, Any]:
    """Arguments that parse and name nothing that is there; files in a folder of the test."""
    given = plausible(operation)
    for parameter in operation.parameters:
        if parameter.required and unwrap(parameter.type)[0] is Path:
            given[parameter.name] = str(folder / f"{operation.verb}.zip")
    return given


def outcome(caller: Bearer, operation: Operation, arguments: dict[str, Any]) -> str:
    try:
        caller.invoke(operation, arguments)
    except MinutebookError as error:
        return error.code
    return "done"


@pytest.mark.parametrize("name", ROLES)
def test_a_token_opens_in_its_own_project_what_its_role_may_ask_and_nothing_else(
    ship: House, name: str, tmp_path: Path
) -> None:
    caller = bearer(ship, agent=name, role=ROLES[name])
    for operation in OPERATIONS:
        found = outcome(caller, operation, arguments_for(operation, tmp_path))
        if operation.access not in ALLOWED[ROLES[name]]:
            assert found == "not_allowed", operation.name
        elif operation.name in WHOLE_LEDGER:
            assert found == "other_project", operation.name
        else:
            assert found not in TURNED_AWAY, (operation.name, found)


@pytest.mark.parametrize("name", ROLES)
def test_a_token_opens_nothing_in_another_project(ship: House, name: str, tmp_path: Path) -> None:
    caller = bearer(ship, agent=name, role=ROLES[name])
    for project in ("sulaco", "global", "no-such-project"):
        caller.project = project
        for operation in OPERATIONS:
            allowed = operation.access in ALLOWED[ROLES[name]]
            found = outcome(caller, operation, arguments_for(operation, tmp_path))
            assert found == ("other_project" if allowed else "not_allowed"), (operation.name, project)


@pytest.mark.parametrize("name", ROLES)
def test_a_token_of_a_smaller_role_makes_less_of_its_bearer(ship: House, name: str, tmp_path: Path) -> None:
    """Kane is an operator; a token of each role in Kane's name is good for that role, in every project."""
    caller = bearer(ship, agent="kane", role=ROLES[name], everywhere=True)
    for project in ("nostromo", "sulaco"):
        caller.project = project
        for operation in OPERATIONS:
            if operation.access in ALLOWED[ROLES[name]]:
                continue
            found = outcome(caller, operation, arguments_for(operation, tmp_path))
            assert found == "not_allowed", (operation.name, project)
    assert caller(memories.list_).items


@pytest.mark.parametrize("state", ["revoked", "expired", "retired"])
def test_a_token_that_does_not_hold_opens_no_operation(ship: House, state: str, tmp_path: Path) -> None:
    made = ship.mother(tokens.create, agent="kane", role="operator", expires="1h")
    caller = Bearer(ship, made.secret)
    if state == "revoked":
        ship.mother(tokens.revoke, id=made.token.id)
    elif state == "expired":
        ship.clock.advance(hours=1)
    else:
        ship.mother(actors.retire, name="kane")
    expected = "not_allowed" if state == "retired" else "bad_token"
    for operation in OPERATIONS:
        assert outcome(caller, operation, arguments_for(operation, tmp_path)) == expected, operation.name


@pytest.mark.parametrize("name", ROLES)
def test_no_read_with_a_token_of_one_project_shows_anything_of_another(
    ship: House, name: str, tmp_path: Path
) -> None:
    tables = ("memories", "proposals", "verdicts", "sessions", "tombstones", "projects", "actors", "tokens")
    ids = [row["id"] for table in tables for row in ship.rows(f"SELECT id FROM {table}")]
    names = [CANARY, f"{CANARY}-2", f"{CANARY}-3", "sulaco", f"hunter of {CANARY}"]
    caller = bearer(ship, agent=name, role=ROLES[name])
    asked = 0
    for operation in OPERATIONS:
        if operation.access is not Access.READ:
            continue
        named = [p.name for p in operation.parameters if p.name in _NAMING]
        for parameter in named or [""]:
            for value in [*ids, *names] if named else [None]:
                given = arguments_for(operation, tmp_path)
                if parameter:
                    given[parameter] = value
                told = _told(caller, operation, given)
                for said in (*ids, *names):  # an error may repeat what was asked for
                    told = told.replace(said.lower(), "") if said == value else told
                assert CANARY not in told, (operation.name, given)
                asked += 1
    assert asked > 300
    there = bearer(ship, agent=name, role=ROLES[name], everywhere=True)
    there.project = "sulaco"
    assert CANARY in _told(there, REGISTRY.of(decisions.show), {"ref": CANARY})


_NAMING = frozenset({"ref", "id", "about", "subject", "session", "name", "agent", "actor", "author", "query"})


def _told(caller: Bearer, operation: Operation, arguments: dict[str, Any]) -> str:
    try:
        return repr(caller.invoke(operation, arguments)).lower()
    except MinutebookError as error:
        return repr(error.as_dict()).lower()
