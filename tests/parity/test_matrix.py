"""Role × operation × surface × project: allowed or refused as declared, and nothing of another project told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from minutebook.files import workspace
from minutebook.model.actors import Role
from minutebook.operations.parameters import Parameter
from minutebook.operations.registry import REGISTRY, Access, Operation
from minutebook.surfaces.http.bounds import names_files
from tests import postgres
from tests.conftest import ENGINES
from tests.parity import story
from tests.parity.surfaces import SURFACES, Http, Outside, open_surface

#: Stands in every text of the other project, and must never be told to anybody who is bound to this one.
CANARY = "kanarienvogel"
OTHER = "sulaco"
DENIED = {"not_allowed", "other_project", "other_agent", "no_token", "bad_token", "foreign_user"}
LEVELS = {
    Role.VIEWER: {Access.READ},
    Role.AGENT: {Access.READ, Access.PROPOSE},
    Role.COORDINATOR: {Access.READ, Access.PROPOSE, Access.REVIEW},
    Role.OPERATOR: set(Access),
}
#: What concerns the whole ledger, and so nobody who is bound to one project, whatever their role.
WHOLE = {
    "projects.create", "projects.link", "system.backup", "system.import", "system.reindex", "providers.enable",
    "providers.disable",
}  # fmt: skip
#: What a first parameter is called that names something.
NAMING = ("ref", "id", "session", "name", "search", "day", "other")
#: Verbs that make something new.
MAKING = {"create", "write", "submit", "add", "start", "add_repo"}


def plausible(operation: Operation, **known: Any) -> dict[str, Any]:
    """Arguments that parse, and name nothing that is there."""
    made = operation.verb in MAKING

    def value(parameter: Parameter) -> Any:
        text = "something new" if made else "nowhere"
        return [text] if parameter.many else parameter.choices[0] if parameter.choices else text

    return {
        parameter.name: known.get(parameter.name, value(parameter))
        for parameter in operation.parameters
        if parameter.required
    }


def cells() -> Iterator[Any]:
    """Every surface on every database; on PostgreSQL all but one in the long run."""
    for engine, name in product(ENGINES, SURFACES):
        marks = [pytest.mark.slow] if engine == "postgres" and name != "http" else []
        yield pytest.param((name, engine), id=f"{name}-{engine}", marks=marks)


@pytest.fixture(params=cells())
def surface(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Outside]:
    name, engine = request.param
    url = f"sqlite://{tmp_path}/b/ledger.db"
    with ExitStack() as stack:
        if engine == "postgres":
            cluster: postgres.Cluster = request.getfixturevalue("cluster")
            base = cluster.fresh()
            stack.callback(cluster.drop, base)
            url = cluster.url(base)
        opened = open_surface(name, tmp_path / "b", url)
        stack.callback(opened.close)
        assert isinstance(opened, Outside)
        story.settle(opened.ask)
        yield opened


def foreign(surface: Outside) -> list[str]:
    """Fill the other project with the canary; what can be named there."""

    def ask(operation: str, **arguments: Any) -> Any:
        answer = surface.ask(None, operation, **arguments)
        assert "error" not in answer, answer
        return answer

    surface.project = None
    project = ask("projects.create", name=f"Sulaco {CANARY}", slug=OTHER)
    surface.project = OTHER
    memory = ask("memories.write", type="project", content=f"The {CANARY} sings.", title=f"{CANARY} one", slug=f"{CANARY}-m", tag=[CANARY])  # fmt: skip
    decision = ask("decisions.write", type="architectural", title=f"{CANARY} two", content=f"No {CANARY} is to be told.", slug=f"{CANARY}-d")  # fmt: skip
    proposal = ask("inbox.submit", type="process", title=f"{CANARY} three", content=f"Feed the {CANARY}.", slug=f"{CANARY}-p")  # fmt: skip
    session = ask("sessions.start", focus=f"the {CANARY}", session=f"{CANARY}-s", summary=f"{CANARY} summary")
    retired = ask("memories.write", type="project", content=f"The {CANARY} is dead.", slug=f"{CANARY}-r")
    ask("memories.retire", ref=f"{CANARY}-r", reason=f"the {CANARY} lives")
    tombstone = ask("tombstones.list")["items"][0]
    token = ask("tokens.create", role="agent", agent=f"{CANARY}-agent", note=f"{CANARY} note")["token"]
    ask("projects.add_repo", name=f"{CANARY}-repo", remote=f"https://example.org/{CANARY}")
    ask("projects.see", path=f"/home/{CANARY}", host=f"{CANARY}.example.org")
    ask("actors.add", name=f"{CANARY}-person", role="agent", bound_to=OTHER)
    ask("agents.add", name=f"{CANARY}-person", charter=f"You feed the {CANARY}.")
    run = ask("runs.start", task=f"catch the {CANARY}")["run"]["id"]
    ask("runs.finish", ref=run, summary=f"The {CANARY} flew.", transcript=f"User: where is the {CANARY}?")
    kept = ask("captures.document", content=f"# {CANARY}\n- We feed the {CANARY} on Fridays.", title=f"{CANARY} minutes")  # fmt: skip
    searched = ask("search.search", query=f"{CANARY} sings")["search"]
    for number in (8080, 9090):
        ask("memories.write", type="project", slug=f"{CANARY}-{number}", content=f"The cage of the {CANARY} in the lower deck listens on port {number}.")  # fmt: skip
    batch = ask("consolidation.run")
    adopted = adopt(surface, project["id"], ask)
    return [
        run, kept["capture"], kept["source"], kept["job"], searched, batch["run"]["id"], adopted,
        *(suggestion["id"] for suggestion in batch["suggestions"]),
        project["id"], OTHER, memory["memory"], memory["verdict"], f"{CANARY}-m", decision["memory"],
        proposal["id"], f"{CANARY}-p", session["id"], f"{CANARY}-s", retired["memory"],
        tombstone["id"], token["id"], f"{CANARY}-person", f"{CANARY}-agent",
    ]  # fmt: skip


def adopt(surface: Outside, project: str, ask: Any) -> str:
    """Have the other project take in a repository that is full of the canary."""
    root = surface.home / f"{CANARY}-adopted"
    ledger = root / ".squad" / "decisions.md"
    ledger.parent.mkdir(parents=True)
    ledger.write_text(
        f"# Decisions\n\n### 2026-01-05: Keep a {CANARY}\n**By:** Ash\n**What:** The {CANARY} stays.\n"
    )
    workspace.create(root, project=project, name=f"Sulaco {CANARY}", created_at="2026-01-01T00:00:00Z")
    ask("projects.see", path=str(root), host="elsewhere")
    return ask("adopt.adopt", path=str(root), confirm=True)["id"]


def test_a_token_may_what_its_role_may_in_its_project_and_nothing_in_another(surface: Outside) -> None:
    names = foreign(surface)
    surface.bind()
    wrong: list[tuple[str, ...]] = []
    for operation in REGISTRY.all():
        for who, role in story.PEOPLE.items():
            allowed = operation.access in LEVELS[Role(role)]
            surface.project = story.PROJECT
            arguments = plausible(operation, agent=who, file=str(surface.home / f"{operation.verb}-{who}"))
            code = _code(surface.ask(who, operation.name, **arguments))
            if (code in DENIED) is (allowed and operation.name not in WHOLE):
                wrong.append((operation.name, role, "own project", code))
            surface.project = OTHER
            code = _code(surface.ask(who, operation.name, **arguments))
            if code != ("other_project" if allowed else "not_allowed"):
                wrong.append((operation.name, role, "other project", code))
    assert wrong == []
    assert names


def test_nothing_of_another_project_is_told_by_any_operation_or_error(surface: Outside) -> None:
    names = foreign(surface)
    surface.bind()
    assert leaks(surface, names) == []


@pytest.mark.parametrize("surface", [("http", "sqlite")], indirect=True)
def test_through_a_link_exactly_the_linked_memory_is_told_and_nothing_beside_it(surface: Outside) -> None:
    names = foreign(surface)
    linked = surface.ask(None, "memories.write", type="project", content="The airlock opens to the left.")
    surface.project = story.PROJECT
    surface.ask(None, "memories.write", type="project", content="There is an airlock.", slug="airlock")
    made = surface.ask(None, "memories.link", ref="airlock", relation="related_to", other=linked["memory"])
    assert "error" not in made, made
    surface.bind()
    for who in ("Ripley", "Mother", "Jones"):
        shown = surface.ask(who, "memories.show", ref=linked["memory"])
        assert (shown["project"], shown["memory"]["content"]) == (OTHER, "The airlock opens to the left.")
    told = surface.ask("Ripley", "context.context", task=f"open the airlock to the left, {CANARY}")
    assert [item["project"] for item in told["items"]] == [OTHER, None]
    assert leaks(surface, [*names, linked["verdict"]]) == []


def leaks(surface: Outside, names: list[str]) -> list[tuple[str, str, str]]:
    """What of the other project is told to an agent and to an operator who are bound to this one."""
    leaks: list[tuple[str, str, str]] = []
    # Behind each surface is the same service: on one every name is tried, on the others every third.
    names = names if isinstance(surface, Http) else names[::3]
    for who in ("Ripley", "Mother"):
        for operation in REGISTRY.all():
            if operation.noun == "system" and operation.name != "system.health":
                continue  # they take files; what an archive of one project holds is tested with the archive
            item = _names_something(operation)
            for name in names if item else ["nowhere"]:
                arguments = plausible(operation, **({item: name} if item else {}))
                answer = json.dumps(surface.ask(who, operation.name, **arguments))
                # What the caller said is no news to them.
                if CANARY in answer.lower().replace(name.lower(), ""):
                    leaks.append((who, operation.name, answer[:300]))
    return leaks


def _names_something(operation: Operation) -> str | None:
    """The parameter that names what is there already, if an operation is about something."""
    first = next(iter(operation.parameters), None)
    return None if operation.verb in MAKING or first is None or first.name not in NAMING else first.name


def _code(answer: Any) -> str:
    return answer["error"]["code"] if isinstance(answer, dict) and "error" in answer else ""


@pytest.mark.parametrize("surface", [("http", "sqlite"), ("mcp over http", "sqlite")], indirect=True)
def test_over_the_network_no_operation_takes_a_file_outside_the_home(surface: Outside) -> None:
    surface.bind()
    taking = [operation for operation in REGISTRY.all() if names_files(operation)]
    assert taking
    for operation in taking:
        for path in ("/etc/hostname", "../../../etc/hostname"):
            arguments = {**plausible(operation), **dict.fromkeys(names_files(operation), path)}
            answer = surface.ask("Mother", operation.name, **arguments)
            assert _code(answer) == "foreign_path", (operation.name, answer)
