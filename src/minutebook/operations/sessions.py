"""The project's current focus: one open session per project."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.controller.write import check_no_secret, check_words
from minutebook.ledger import events
from minutebook.ledger import sessions as kept
from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.model.sessions import MOST_SUMMARY, Session
from minutebook.model.text import clean, one_line
from minutebook.operations.given import AfterId, Limit, filled_line, page_of
from minutebook.operations.registry import Access, Help, LongText, operation

Focus = Annotated[str, Help("what the project is about just now"), MaxLen(2_000)]
Issues = Annotated[list[str], Help("an open issue; may be given again"), MaxLen(200)]
Summary = Annotated[str, LongText(), Help("what happened so far"), MaxLen(MOST_SUMMARY)]
State = Annotated[str, LongText(), Help("a tool's own saved state, kept as it is"), MaxLen(1_048_576)]


@operation(Access.PROPOSE)
def start(
    call: Call,
    focus: Focus,
    session: Annotated[str | None, Help("your own name for it, unique in the project"), MaxLen(200)] = None,
    issue: Issues = (),  # type: ignore[assignment]
    summary: Summary | None = None,
    state: State | None = None,
) -> Session:
    """Start a session. The one that was open is closed in the same transaction.

    Example:
        minutebook sessions start "Harden the importer" --issue "#12" --issue "#14"
    """
    project = call.project.id
    new_id = call.new_id()
    name = new_id if session is None else filled_line(session, "session")
    if kept.get(call.tx, project, name) is not None:
        raise MinutebookError("exists", f"The project has a session {name[:80]!r} already.", session=name)
    before = kept.current(call.tx, project)
    if before is not None:
        _end(call, before)
    started = Session(
        id=new_id,
        project=project,
        session=name,
        focus=filled_line(focus, "focus"),
        issues=tuple(filled_line(item, "issue") for item in issue),
        summary=clean(summary or ""),
        state=state,
        started_by=call.actor.id,
        started_at=call.now,
        updated_at=call.now,
    )
    _check_words(started)
    kept.insert(call.tx, started, _event(call, "session.started", started))
    return started


def _check_words(session: Session) -> None:
    """Agents read the session at the start of every run: no secret goes into it, and nothing that deceives."""
    check_words({"focus": session.focus, "issues": "\n".join(session.issues), "summary": session.summary})
    # A tool's own state is shown to nobody.
    check_no_secret({"state": session.state or ""})


def _event(call: Call, kind: str, session: Session) -> int:
    return events.append(
        call.tx,
        kind=kind,
        subject=session.id,
        project=session.project,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        run=call.caller.run,
    )


def _end(call: Call, session: Session) -> Session:
    ended = replace(session, ended_at=call.now, ended_by=call.actor.id, updated_at=call.now)
    kept.update(call.tx, ended, _event(call, "session.ended", session))
    return ended


def _open(call: Call) -> Session:
    found = kept.current(call.tx, call.project.id)
    if found is None:
        raise MinutebookError(
            "not_found", "No session is open.", hint='minutebook sessions start "what it is about"'
        )
    return found


def _summary(before: str, append: str) -> str:
    text = f"{before}\n{clean(append)}" if before else clean(append)
    if len(text) > MOST_SUMMARY:
        raise MinutebookError(
            "too_large",
            f"The summary would be longer than {MOST_SUMMARY:,} characters; put a shorter one in place.",
        )
    return text


@operation(Access.READ)
def current(call: Call) -> Session:
    """Show the open session.

    Example:
        minutebook sessions current
    """
    return _open(call)


@operation(Access.PROPOSE)
def update(
    call: Call,
    focus: Focus | None = None,
    issue: Annotated[list[str] | None, Help("the open issues, all of them"), MaxLen(200)] = None,
    append: Annotated[Summary | None, Help("add this to the summary")] = None,
    summary: Annotated[Summary | None, Help("put this in place of the summary")] = None,
    state: State | None = None,
) -> Session:
    """Bring the open session up to date.

    The summary grows by --append; nothing is lost.

    Example:
        minutebook sessions update --append "Parser done; the fuzzer runs."
    """
    session = _open(call)
    if append is not None and summary is not None:
        raise MinutebookError("invalid_input", "Give --append or --summary, not both.")
    text = session.summary
    if summary is not None:
        text = clean(summary)
    elif append is not None:
        text = _summary(text, append)
    updated = replace(
        session,
        focus=session.focus if focus is None else filled_line(focus, "focus"),
        issues=session.issues if issue is None else tuple(one_line(item) for item in issue if one_line(item)),
        summary=text,
        state=session.state if state is None else state,
        updated_at=call.now,
    )
    _check_words(updated)
    kept.update(call.tx, updated, _event(call, "session.updated", updated))
    return updated


@operation(Access.PROPOSE)
def close(
    call: Call, append: Annotated[Summary | None, Help("last words for the summary")] = None
) -> Session:
    """Close the open session.

    Example:
        minutebook sessions close --append "Released 0.2."
    """
    session = _open(call)
    if append is not None:
        session = replace(session, summary=_summary(session.summary, append))
        _check_words(session)
    return _end(call, session)


@operation(Access.READ)
def list_(call: Call, after: AfterId | None = None, limit: Limit = 50) -> Page[Session]:
    """List the project's sessions, newest first.

    Example:
        minutebook sessions list
    """
    return page_of(kept.list_(call.tx, call.project.id, after=after, limit=limit + 1), limit, "id")


@operation(Access.READ)
def show(call: Call, session: Annotated[str, Help("its name or id")]) -> Session:
    """Show one session.

    Example:
        minutebook sessions show 01K9…
    """
    found = kept.get(call.tx, call.project.id, session)
    if found is None:
        raise MinutebookError(
            "not_found", f"There is no session {session[:80]!r}.", hint="minutebook sessions list"
        )
    return found
