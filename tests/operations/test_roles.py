"""Who may ask for what, and who sees what: every operation of the registry, every role, every way to read."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import (
    actors,
    decisions,
    inbox,
    memories,
    projects,
    scope,
    search,
    sessions,
    verdicts,
)
from minutebook.operations.registry import REGISTRY, Access, Operation
from minutebook.service import authorise
from tests.houses import House
from tests.operations.asking import code

#: The whole table, written out: a new operation is a line here that a reviewer sees.
TABLE = {
    Access.READ: """
        consolidation.list consolidation.show consolidation.status
        captures.list captures.show runs.replay daily.list daily.show jobs.list jobs.show sources.list sources.show
        providers.list providers.show
        actors.list actors.show adoptions.list adoptions.show agents.show context.context context.diff decisions.diff decisions.history
        decisions.list decisions.show events.list files.status inbox.digest inbox.list inbox.show memories.diff
        memories.history memories.list memories.seen memories.show memories.verify projects.links projects.list projects.show
        runs.current runs.list runs.show scope.show search.search searches.explain searches.list searches.show sessions.current sessions.list sessions.show
        system.health tokens.list tokens.show tombstones.list verdicts.list verdicts.show""",
    Access.PROPOSE: """
        captures.conversation captures.document captures.note
        adopt.adopt
        decisions.edit decisions.write files.sync hooks.receive inbox.submit inbox.withdraw memories.archive memories.edit
        memories.link memories.rescope memories.retire memories.supersede memories.tag memories.unlink
        memories.untag memories.write projects.see runs.abandon runs.finish runs.reload runs.start sessions.close sessions.start sessions.update""",
    Access.REVIEW: """
        audit.audit audit.page consolidation.leave consolidation.retry consolidation.run consolidation.take
        captures.extract jobs.retry
        adoptions.accept adoptions.reject
        decisions.archive decisions.retire decisions.supersede inbox.expire inbox.promote inbox.reject
        memories.restore projects.link projects.unlink tombstones.lift verdicts.revert""",
    Access.OPERATE: """
        sources.erase runs.prune runs.repair providers.disable providers.enable
        actors.add agents.add actors.edit actors.restore actors.retire files.replace inbox.erase memories.erase projects.add_repo
        projects.archive projects.create projects.edit projects.forget projects.restore system.backup
        system.export system.import system.reindex tokens.create tokens.revoke tokens.revoke_all
        verdicts.revert_all""",
}
ALLOWED = {
    Role.SCRIBE: set[Access](),
    Role.VIEWER: {Access.READ},
    Role.AGENT: {Access.READ, Access.PROPOSE},
    Role.COORDINATOR: {Access.READ, Access.PROPOSE, Access.REVIEW},
    Role.OPERATOR: set(Access),
}
OPERATIONS = REGISTRY.all()


def plausible(operation: Operation) -> dict[str, Any]:
    """Arguments that parse, for every required parameter."""
    values: dict[str, Any] = {}
    for parameter in operation.parameters:
        if parameter.required:
            values[parameter.name] = (
                ["x"] if parameter.many else parameter.choices[0] if parameter.choices else "x"
            )
    return values


def test_every_operation_has_the_access_level_that_the_table_says() -> None:
    declared = {access: {op.name for op in OPERATIONS if op.access is access} for access in Access}
    assert declared == {access: set(names.split()) for access, names in TABLE.items()}


@pytest.mark.parametrize("role", list(Role))
def test_a_role_may_ask_for_what_its_levels_hold_and_for_nothing_else(role: Role) -> None:
    for operation in OPERATIONS:
        actor = Actor("x", "X", role)
        if operation.access in ALLOWED[role]:
            authorise(actor, operation)
        else:
            assert code(authorise, actor, operation) == "not_allowed", operation.name


def test_who_may_not_ask_is_denied_before_anything_is_read_and_who_may_is_not(house: House) -> None:
    people = {
        Role.VIEWER: house.jones,
        Role.AGENT: house.ripley,
        Role.COORDINATOR: house.dallas,
        Role.OPERATOR: house.mother,
    }
    for operation in OPERATIONS:
        for role, caller in people.items():
            expected = "invalid_input" if operation.access in ALLOWED[role] else "not_allowed"
            assert code(caller.invoke, operation, {"no such thing": 1}) == expected, (operation.name, role)


# --- a caller bound to one project ------------------------------------------------------------------------


@pytest.fixture
def bound(house: House) -> House:
    """Kane, an operator bound to Nostromo; and a project Sulaco with something of each kind in it."""
    house.mother(actors.add, name="Kane", role="operator", bound_to="nostromo")
    house.new_project("Sulaco")
    return house


def test_a_bound_caller_cannot_name_another_project_in_any_operation(bound: House) -> None:
    other = bound.as_("Kane", project="sulaco")
    unknown = bound.as_("Kane", project="no-such-project")
    for operation in OPERATIONS:
        for caller in (other, unknown):
            assert code(caller.invoke, operation, plausible(operation)) == "other_project", operation.name
    kane = bound.as_("Kane")
    kane.project = None  # and needs to name none
    assert kane(projects.show).project.slug == "nostromo"
    assert [project.slug for project in kane(projects.list_, archived=True).items] == ["nostromo", "global"]


def test_a_bound_caller_cannot_reach_another_project_by_a_parameter(bound: House) -> None:
    kane = bound.as_("Kane")
    for ask in (
        lambda: kane(projects.show, ref="sulaco"),
        lambda: kane(projects.edit, ref="sulaco", name="Mine"),
        lambda: kane(projects.archive, ref="sulaco"),
        lambda: kane(projects.restore, ref="sulaco"),
        lambda: kane(projects.see, path="/a", host="b", ref="sulaco"),
        lambda: kane(actors.add, name="Puppet", bound_to="sulaco"),
        lambda: kane(projects.create, name="Another"),
    ):
        assert code(ask) in ("other_project", "not_found")


def test_a_bound_operator_lets_nobody_in_who_is_less_bound(bound: House) -> None:
    kane = bound.as_("Kane")
    kane(actors.add, name="Puppet", role="operator")
    assert code(bound.as_("Puppet", project="sulaco"), memories.list_) == "other_project"
    for verb, more in ((actors.edit, {"role": "operator"}), (actors.retire, {}), (actors.restore, {})):
        assert code(kane, verb, name="ripley", **more) == "other_project"
    assert kane(actors.edit, name="puppet", role="viewer").role is Role.VIEWER


def test_what_lies_in_another_project_is_not_found_by_its_id(bound: House) -> None:
    sulaco = bound.as_("Mother", project="sulaco")
    decided = sulaco(decisions.write, type="scope", title="S", content="Decided elsewhere.", slug="elsewhere")
    proposed = bound.as_("Ripley", project="sulaco")(
        inbox.submit, type="scope", title="P", content="Proposed elsewhere.", slug="proposed"
    )
    started = sulaco(sessions.start, focus="Elsewhere", session="there")
    gone = sulaco(memories.write, type="project", content="Retired elsewhere.", slug="gone")
    sulaco(memories.retire, ref="gone", reason="x")
    stone = bound.rows("SELECT id FROM tombstones")[0]["id"]
    ids = [decided.memory, decided.verdict, proposed.id, started.id, gone.memory, stone, "elsewhere", "there"]
    for caller in (bound.as_("Kane"), bound.ripley, bound.mother):
        for operation in OPERATIONS:
            named = [
                p.name for p in operation.parameters if p.name in ("ref", "id", "session") and p.required
            ]
            if (
                not named
                or operation.noun == "projects"
                or operation.access not in ALLOWED[caller.actor.role]
            ):
                continue
            for id in ids:
                asked = {**plausible(operation), named[0]: id}
                if operation.name in ("memories.edit", "decisions.edit"):
                    asked["title"] = "Changed"
                if operation.name == "memories.rescope":
                    asked["scope"] = "project"
                assert code(caller.invoke, operation, asked) == "not_found", (operation.name, id)


# --- what an agent sees of another's ----------------------------------------------------------------------


def test_no_way_of_reading_shows_an_agent_what_another_keeps_for_itself(house: House) -> None:
    mine: dict[str, Any] = {
        "type": "learning",
        "rationale": "canary",
        "tag": ["canary"],
        "evidence": ["canary.md"],
    }
    kept = house.ripley(
        memories.write, content="The canary sings at dawn.", entity="canary", attribute="song", **mine
    )
    house.ripley(memories.edit, ref=kept.memory, content="The canary sings at noon.", summary="canary")
    house.ripley(memories.write, content="The canary sings at dusk.", **{**mine, "type": "core_context"})
    retired = house.ripley(memories.write, content="The canary is dead.", tier="project", **mine)
    house.ripley(memories.retire, ref=retired.memory, reason="it lives")
    assert code(house.ripley, memories.write, content="The CANARY is dead!", **mine) == "tombstoned"
    house.ripley(inbox.submit, title="Canary", content="The canary was proposed.", slug="canary", **mine)
    promoted = house.dallas(inbox.promote, ref="canary")
    fact = house.mother(memories.write, type="project", content="There is a cage.", slug="cage")
    house.ripley(memories.link, ref=kept.memory, relation="supports", other="cage")
    ids = [
        row["id"]
        for row in house.rows(
            "SELECT id FROM memories UNION SELECT id FROM proposals UNION SELECT id FROM verdicts"
        )
    ]
    asked = [
        *[
            (op, {**plausible(op), **extra})
            for op in OPERATIONS
            for extra in _ways(op, ids)
            if op.access is Access.READ
        ],
        (
            REGISTRY.of(search.search),
            {"query": "sings dawn noon dusk", "status": "all", "proposals_too": True, "shadowed": True},
        ),
        (REGISTRY.of(memories.list_), {"agent": "ripley", "status": "all"}),
        (REGISTRY.of(memories.diff), {"ref": fact.memory, "other": kept.memory}),
    ]
    for operation, arguments in asked:
        if operation.name == "system.health":
            continue  # counts only; its answer holds the directory of this very test
        assert "canary" not in _answer(house.bishop, operation, arguments), (operation.name, arguments)
    seen = [_answer(house.ripley, operation, arguments) for operation, arguments in asked]
    assert sum("canary" in answer for answer in seen) > 20  # the same questions do show it to its owner
    for verb in (memories.show, memories.history, memories.diff, inbox.show):
        assert code(house.bishop, verb, ref="canary") == "not_found"
    assert code(house.bishop, memories.show, ref=promoted.memory) == "not_found"
    assert code(house.bishop, scope.show, agent="Ripley") == "other_agent"
    assert code(house.bishop, verdicts.show, id=kept.verdict, content=True) == "not_allowed"


def _ways(operation: Operation, ids: list[str]) -> list[dict[str, Any]]:
    """Different ways to ask: every id for what is named, every choice of what filters."""
    ways: list[dict[str, Any]] = []
    for parameter in operation.parameters:
        if parameter.name in ("ref", "id", "about", "subject"):
            ways += [{parameter.name: id} for id in ids]
        elif parameter.choices and not parameter.many:
            ways += [{parameter.name: choice} for choice in parameter.choices]
    return ways or [{}]


def _answer(caller: Any, operation: Operation, arguments: dict[str, Any]) -> str:
    try:
        return repr(caller.invoke(operation, arguments)).lower()
    except MinutebookError as error:
        return repr(error.as_dict()).lower()
