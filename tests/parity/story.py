"""One story in which every operation is asked for, well and badly: told through each surface, and compared."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Protocol

from minutebook.files import workspace
from minutebook.operations.registry import REGISTRY, Access

#: Who asks in the story, besides the person who owns the ledger (None).
PEOPLE = {
    "Mother": "operator",
    "Dallas": "coordinator",
    "Ripley": "agent",
    "Bishop": "agent",
    "Jones": "viewer",
}
PROJECT = "nostromo"


#: Asked for like all others, and never with success: what these mend, only a process that was killed leaves behind.
#: (tests/operations/test_consolidation.py leaves it behind.) And no package that is installed here brings a provider
#: (tests/scenarios/test_providers.py installs one).
NEVER_WELL = {"consolidation.retry", "providers.show", "providers.enable", "providers.disable"}


class Ask(Protocol):
    """Ask as somebody (None: the owner of the ledger) and give the plain answer, or the error's dict."""

    def __call__(self, who: str | None, operation: str, **arguments: Any) -> Any: ...


def settle(ask: Ask) -> None:
    """The project and its people."""
    ask(None, "projects.create", name="Nostromo")
    for name, role in PEOPLE.items():
        ask(None, "actors.add", name=name, role=role)


def tell(ask: Ask, home: Path) -> None:
    """Every operation, in an order in which each has something to do. `home` is the ledger's own directory."""
    _inbox(ask)
    _decisions(ask)
    _memories(ask)
    _reading(ask)
    _sessions_and_projects(ask)
    _people(ask)
    _runs(ask)
    _captures(ask)
    _consolidation(ask)
    _providers(ask)
    _undoing(ask)
    _adopting(ask, home / "adopted")
    _house(ask, home)
    _files(ask, home / "mirrored")
    _badly(ask)


def _inbox(ask: Ask) -> None:
    ask(
        "Ripley", "inbox.submit", type="architectural", title="Use PostgreSQL", content="The ledger moves to it.",
        slug="use-postgres", rationale="Many machines.", importance="high", confidence=0.9, tag=["storage", "team"],
        evidence=["file:src/app.py#1-3", "url:https://example.org/why"],
    )  # fmt: skip
    ask(
        "Bishop",
        "inbox.submit",
        type="technical",
        title="Use PostgreSQL",
        content="Another view.",
        slug="use-postgres",
    )
    ask(
        "Ripley",
        "inbox.submit",
        type="process",
        title="Stand up daily",
        content="At nine. Ünïcödé – ja!",
        slug="stand-up",
    )
    ask(
        "Ripley",
        "inbox.submit",
        type="scope",
        title="No web page",
        content="The first release has none.",
        slug="no-page",
    )
    ask("Jones", "inbox.list")
    ask("Dallas", "inbox.list", status="all", type="architectural", limit=1)
    ask("Dallas", "inbox.show", ref="use-postgres")
    ask("Dallas", "inbox.digest")
    ask("Dallas", "inbox.promote", ref="use-postgres", reason="agreed", title="We use PostgreSQL")
    ask("Dallas", "inbox.promote", ref="use-postgres")
    ask("Dallas", "inbox.reject", ref="stand-up", reason="We write instead.")
    ask("Ripley", "inbox.withdraw", ref="no-page", reason="too early")
    ask("Ripley", "inbox.promote", ref="use-postgres--bishop")
    ask("Mother", "inbox.erase", ref="stand-up", reason="a name was in it")
    ask("Dallas", "inbox.expire")
    ask("Dallas", "inbox.expire", days=30)


def _decisions(ask: Ask) -> None:
    ask("Dallas", "decisions.write", type="technical", title="Tabs", content="Indent with tabs.", slug="tabs")
    ask(
        "Dallas",
        "decisions.write",
        type="technical",
        title="Spaces",
        content="Indent with four blanks.",
        slug="spaces",
    )
    ask(
        "Ripley",
        "decisions.write",
        type="technical",
        title="No",
        content="Do not indent at all.",
        dry_run=True,
    )
    ask("Jones", "decisions.list", status="all", type="technical")
    ask("Jones", "decisions.show", ref="tabs")
    ask("Dallas", "decisions.edit", ref="tabs", content="Indent with tabs, always.", revision=1)
    ask("Dallas", "decisions.edit", ref="tabs", content="Indent with tabs, never.", revision=1)
    ask("Jones", "decisions.history", ref="tabs")
    ask("Jones", "decisions.diff", ref="tabs", revision=1, to=2)
    ask("Dallas", "decisions.supersede", ref="tabs", by="spaces", reason="the linter wants it")
    ask("Dallas", "decisions.write", type="process", title="Meetings", content="On Mondays.", slug="meetings")
    ask("Dallas", "decisions.archive", ref="meetings", reason="nobody came")
    ask(
        "Dallas",
        "decisions.write",
        type="process",
        title="Fridays",
        content="Deploy on Fridays.",
        slug="fridays",
    )
    ask("Dallas", "decisions.retire", ref="fridays", reason="it was wrong")
    ask("Ripley", "memories.write", type="process", content="Deploy on Fridays.", title="Fridays")


def _memories(ask: Ask) -> None:
    ask(
        "Ripley",
        "memories.write",
        type="learning",
        content="The proxy drops bodies over 1 MB.",
        slug="proxy",
        tag=["ops"],
    )
    ask(
        "Ripley", "memories.write", type="learning", content="The proxy drops bodies over 1 MB.", slug="proxy"
    )
    ask(
        "Ripley",
        "memories.write",
        type="pattern",
        content="Retry with the same key.",
        slug="retry",
        importance="high",
    )
    ask(
        "Ripley",
        "memories.write",
        type="learning",
        content="token = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'",
    )
    ask("Ripley", "memories.list", type="learning")
    ask("Ripley", "memories.list", tag=["ops"], limit=1)
    ask("Ripley", "memories.show", ref="proxy")
    ask("Bishop", "memories.show", ref="proxy")
    ask(
        "Ripley",
        "memories.edit",
        ref="proxy",
        content="The proxy drops bodies over 2 MB.",
        tag=["ops", "net"],
    )
    ask("Ripley", "memories.tag", ref="retry", tags=["cross-team", "net"])
    ask("Ripley", "memories.untag", ref="retry", tags=["net"])
    ask("Ripley", "memories.link", ref="retry", relation="related_to", other="proxy")
    ask("Ripley", "memories.unlink", ref="retry", relation="related_to", other="proxy")
    ask("Ripley", "memories.history", ref="proxy")
    ask("Ripley", "memories.diff", ref="proxy")
    ask(
        "Ripley",
        "memories.write",
        type="learning",
        content="The proxy has been replaced by a cache.",
        slug="cache",
    )
    ask("Ripley", "memories.supersede", ref="proxy", by="cache")
    ask("Ripley", "memories.archive", ref="retry", reason="no longer needed")
    ask("Dallas", "memories.write", type="project", content="The office has two cats.", slug="cats")
    ask("Dallas", "memories.retire", ref="cats", reason="there are three")
    ask("Dallas", "memories.restore", ref="cats", reason="one moved out")
    ask("Dallas", "memories.rescope", ref="cats", scope="agent", agent="bishop", tier="project")
    ask("Mother", "memories.write", type="project", content="Somebody's telephone number.", slug="phone")
    ask("Mother", "memories.erase", ref="phone", reason="privacy")


def _reading(ask: Ask) -> None:
    ask("Jones", "search.search", query="postgres machines")
    ask("Ripley", "search.search", query='proxy -nothing "2 MB"', status="all", proposals_too=True)
    ask("Jones", "search.search", query="postgers", explain=True, everywhere=True)
    ask("Ripley", "search.search", query="proxy", everywhere=True)
    ask("Dallas", "searches.explain", ref="cats", query="cat")
    ask("Ripley", "searches.explain", ref="no-such", query="cat")
    asked = ask("Ripley", "search.search", query="proxy")
    ask("Ripley", "searches.show", search=asked["search"])
    ask("Bishop", "searches.show", search=asked["search"])
    ask("Ripley", "searches.show", search="01JD8ZK3V0000000000000000A")
    ask("Jones", "searches.list", since="1d", state="failed")
    ask("Jones", "scope.show")
    ask("Dallas", "scope.show", agent="ripley")
    ask("Ripley", "scope.show", agent="bishop")
    found = ask("Jones", "verdicts.list", limit=3)
    ask("Jones", "verdicts.list", after=found["next"], limit=2, op="add")
    ask("Dallas", "verdicts.show", id=found["items"][0]["id"], content=True)
    ask("Jones", "events.list", limit=4)
    ask("Jones", "events.list", follow=True, after="3", limit=2)
    ask("Jones", "tombstones.list")


def _sessions_and_projects(ask: Ask) -> None:
    ask("Ripley", "sessions.current")
    ask(
        "Ripley",
        "sessions.start",
        focus="The importer",
        session="s-1",
        issue=["#12", "#13"],
        summary="Begun.",
    )
    ask("Ripley", "sessions.update", append="The parser is done.", issue=[])
    ask("Bishop", "sessions.start", focus="The exporter")
    ask("Jones", "sessions.current")
    ask("Jones", "sessions.show", session="s-1")
    ask("Jones", "sessions.list")
    ask("Bishop", "sessions.close", append="Done.")
    ask("Mother", "projects.create", name="Sulaco")
    ask("Jones", "projects.list")
    ask("Jones", "projects.show")
    ask("Mother", "projects.edit", ref="sulaco", name="Sulaco Two")
    ask("Mother", "projects.archive", ref="sulaco")
    ask("Mother", "projects.restore", ref="sulaco")
    ask("Dallas", "projects.link", other="sulaco")
    ask("Ripley", "projects.links")
    ask("Dallas", "projects.unlink", other="sulaco")
    ask("Ripley", "projects.see", path="/somewhere/else", host="elsewhere")
    ask("Mother", "projects.forget", path="/somewhere/else", host="elsewhere")
    ask("Mother", "projects.add_repo", name="engine", remote="https://example.org/engine.git")
    ask("Jones", "files.status", every=True)
    ask("Ripley", "files.sync")
    ask("Mother", "files.replace", paths=[".squad/decisions.md"])


def _people(ask: Ask) -> None:
    ask("Mother", "actors.add", name="Lambert", role="viewer")
    ask("Jones", "actors.list", role="viewer")
    ask("Jones", "actors.show", name="lambert")
    ask("Mother", "actors.edit", name="lambert", role="agent", shown_as="LAMBERT")
    ask("Mother", "actors.retire", name="lambert")
    ask("Mother", "actors.restore", name="lambert")
    made = ask("Mother", "tokens.create", role="agent", agent="lambert", expires="7d", note="for the tests")
    ask("Mother", "tokens.create", role="viewer", agent="lambert", expires="never")
    ask("Mother", "tokens.list", agent="lambert")
    ask("Mother", "tokens.show", id=made["token"]["id"])
    ask("Mother", "tokens.revoke", id=made["token"]["id"], reason="lost")
    ask("Mother", "tokens.revoke_all", agent="lambert")
    ask("Ripley", "hooks.receive", event="session-start", host="claude-code", session="abc", cwd="/somewhere")


def _runs(ask: Ask) -> None:
    ask("Mother", "agents.add", name="Kane", charter="You look into eggs.")
    ask("Jones", "agents.show", name="kane")
    ask("Ripley", "context.context", task="the proxy drops bodies")
    ask("Dallas", "context.context", agent="bishop", inbox=True)
    ask("Dallas", "context.context", child=True, as_of="9")
    ask("Dallas", "context.diff", before="agent:ripley", after="agent:bishop")
    run = ask("Ripley", "runs.start", task="look at the cache")["run"]["id"]
    ask("Ripley", "runs.current")
    ask("Ripley", "runs.reload", ref=run)
    ask("Ripley", "runs.show", ref=run)
    ask("Jones", "runs.list", status="open")
    ask("Ripley", "memories.seen", ref="cache")
    ask("Dallas", "memories.verify", ref=["we-use-postgresql", "use-postgres"])
    ask("Ripley", "runs.finish", ref=run, outcome="completed", summary="Looked.")
    ask("Ripley", "runs.finish", ref=run, outcome="completed", summary="Looked.")
    given_up = ask("Bishop", "runs.start")["run"]["id"]
    ask("Bishop", "runs.abandon", ref=given_up)


def _captures(ask: Ask) -> None:
    """Nothing is read here: that is the service's work, and the story is told without it."""
    words = "Ana: Which database?\nSebas: We decided to use PostgreSQL instead of MySQL for billing."
    kept = ask("Dallas", "captures.conversation", content=words, consent="both agreed", mode="notes")
    ask("Dallas", "captures.conversation", content=words, consent="both agreed")
    ask(
        "Ripley",
        "captures.document",
        content="# Decisions\n- We ship on Fridays from now on.",
        title="Minutes",
    )
    ask("Ripley", "captures.note", content="Turns out the sandbox resets every night.", scope="project")
    ask("Ripley", "captures.list", state="queued")
    ask("Jones", "captures.show", ref=kept["capture"])
    ask("Ripley", "captures.show", ref=kept["capture"])
    ask("Dallas", "captures.extract", ref=kept["source"])
    ask("Dallas", "sources.list", kind="conversation")
    ask("Dallas", "sources.show", ref=kept["source"], first=2, last=2)
    ask("Jones", "sources.show", ref=kept["source"])
    ask("Dallas", "jobs.list", state="todo", kind="extract")
    ask("Dallas", "jobs.show", ref=kept["job"])
    ask("Dallas", "jobs.retry", ref=kept["job"])
    ask("Dallas", "jobs.retry")
    ask("Ripley", "daily.list", limit=5)
    talked = ask("Bishop", "runs.start", task="talk")["run"]["id"]
    spoken = "User: hello there\nAssistant: Turns out the proxy drops every body that is sent in chunks."
    ask("Bishop", "runs.finish", ref=talked, transcript=spoken)
    ask("Bishop", "runs.replay", ref=talked)
    ask("Ripley", "runs.replay", ref=talked)
    ask("Mother", "runs.prune", older_than="1d")
    ask("Mother", "runs.repair", open_since="1d", confirm=True)
    ask("Dallas", "daily.show", day="1999-12-31", scope="agent:ripley")
    ask("Ripley", "daily.show", day="today", scope="agent:bishop")
    ask("Ripley", "daily.show", day="today", scope="agent:ripley")
    ask("Mother", "sources.erase", ref=kept["source"], reason="they withdrew their consent")
    ask("Dallas", "captures.extract", ref=kept["capture"])


def _consolidation(ask: Ask) -> None:
    """Something that repeats, something that disagrees, and a look through all of it."""
    for slug, port in (("hatch-one", 8080), ("hatch-two", 9090)):
        ask("Dallas", "memories.write", type="project", slug=slug, title="Hatch", content=f"The hatch of the lower deck listens on port {port} when docked.")  # fmt: skip
    ask("Dallas", "memories.write", type="project", slug="promo", title="Promo", content="The promo code of the cantina works until 2020-01-31 only.")  # fmt: skip
    ask("Jones", "consolidation.status")
    ask("Ripley", "consolidation.run")
    batch = ask("Dallas", "consolidation.run")
    ask("Jones", "consolidation.list")
    ask("Ripley", "consolidation.show")
    waits = {each["kind"]: each["id"] for each in batch["suggestions"]}
    ask("Dallas", "consolidation.take", id=waits["contradiction"], keep="hatch-two", reason="measured again")
    ask("Dallas", "consolidation.leave", id=waits["outdated"])
    ask("Dallas", "consolidation.leave", id=waits["outdated"])
    ask("Dallas", "consolidation.retry", id=batch["run"]["id"])
    ask("Mother", "audit.audit")
    ask("Mother", "audit.page")


def _providers(ask: Ask) -> None:
    ask("Jones", "providers.list")
    ask("Jones", "providers.show", name="hashing")
    ask("Ripley", "providers.enable", name="hashing")
    ask("Mother", "providers.enable", name="hashing", kind="embedder")
    ask("Mother", "providers.disable", name="hashing")


def _undoing(ask: Ask) -> None:
    wrote = ask("Bishop", "memories.write", type="learning", content="Undo me, please.", slug="undo-me")
    ask("Dallas", "verdicts.revert", id=wrote["verdict"], dry_run=True)
    ask("Dallas", "verdicts.revert", id=wrote["verdict"], reason="a mistake")
    ask("Dallas", "verdicts.revert", id=wrote["verdict"])
    laid = ask("Jones", "tombstones.list", limit=1)
    ask("Dallas", "tombstones.lift", id=laid["items"][0]["id"], reason="it was right")
    ask("Bishop", "memories.write", type="learning", content="Undo this one too.", slug="undo-this")
    ask("Mother", "verdicts.revert_all", actor="bishop", reason="all of it")
    ask("Mother", "verdicts.revert_all", actor="bishop", confirm=True)


def _adopting(ask: Ask, repository: Path) -> None:
    """A repository that the service can read, whoever asks: a workspace that the project was seen in."""
    ledger = repository / ".squad" / "decisions.md"
    ledger.parent.mkdir(parents=True)
    ledger.write_text(
        "# Decisions\n\n### 2026-01-05: Use Rust\n**By:** Ripley\n**What:** The parser is in Rust.\n\n"
        "### 2026-01-06: Ship weekly\n**By:** Ash\n**What:** A release goes out on Mondays.\n"
    )
    (repository / "CLAUDE.md").write_text("# Rules\n\nAlways write a test first.\n")
    project = ask("Jones", "projects.show")["project"]
    workspace.create(repository, project=project["id"], name="Nostromo", created_at="2026-01-01T00:00:00Z")
    ask("Ripley", "projects.see", path=str(repository), host="elsewhere")
    ask("Ripley", "adopt.adopt", path=str(repository), pieces=True)
    ask("Ripley", "adopt.adopt", path=str(repository), activate=True)
    adopted = ask("Dallas", "adopt.adopt", path=str(repository), confirm=True)
    ask("Dallas", "adopt.adopt", path=str(repository), confirm=True)
    ask("Jones", "adoptions.list")
    ask("Jones", "adoptions.show", id=adopted["id"], path=[".squad/decisions.md"])
    ask("Mother", "adoptions.accept", id=adopted["id"], path=[".squad/decisions.md"])
    ask("Mother", "adoptions.accept", id=adopted["id"], path=[".squad/decisions.md"], confirm=True)
    ask("Dallas", "adoptions.reject", id=adopted["id"], reason="we have better rules", confirm=True)


def _house(ask: Ask, home: Path) -> None:
    ask("Mother", "system.health")
    ask("Mother", "system.backup", file=str(home / "copy"))
    ask("Mother", "system.export", file=str(home / "all.zip"))
    ask("Mother", "system.export", file=str(home / "all.zip"))
    ask("Mother", "system.import", file=str(home / "all.zip"), dry_run=True)
    ask("Mother", "system.import", file=str(home / "no-such.zip"))
    ask("Mother", "system.reindex")


def _files(ask: Ask, root: Path) -> None:
    """A workspace of this machine in which somebody else's file stands where a generated one belongs."""
    theirs = root / ".squad" / "decisions.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("# Ours\n\nWe write this by hand.\n")
    project = ask("Jones", "projects.show")["project"]
    workspace.create(root, project=project["id"], name="Nostromo", created_at="2026-01-01T00:00:00Z")
    ask("Ripley", "projects.see", path=str(root), host=socket.gethostname())
    ask("Ripley", "files.sync")
    ask("Jones", "files.status")
    ask("Ripley", "files.replace", paths=[".squad/decisions.md"])
    ask("Mother", "files.replace", paths=[".squad/decisions.md"])
    ask("Mother", "projects.forget", path=str(root), host=socket.gethostname())


def _badly(ask: Ask) -> None:
    """Each operation as somebody who may not, and about something that is not there."""
    for operation in REGISTRY.all():
        values = {
            parameter.name: ["x"]
            if parameter.many
            else parameter.choices[0]
            if parameter.choices
            else "no-such"
            for parameter in operation.parameters
            if parameter.required
        }
        if operation.access is not Access.READ:
            ask("Jones", operation.name, **values)
        if operation.access in (Access.REVIEW, Access.OPERATE):
            ask("Ripley", operation.name, **values)
        first = next(iter(operation.parameters), None)
        if (
            first is not None
            and first.name in ("ref", "id", "name", "session")
            and operation.name not in _MAKES
        ):
            ask("Mother", operation.name, **values)


#: Operations whose first parameter names something new.
_MAKES = {"actors.add", "agents.add", "projects.create", "projects.add_repo"}
