"""Reads what others keep in a repository, whole, and takes it apart into entries. Writes nothing.

What is adopted is what the files say: every entry with its lines and their hash, every other line counted and kept.
A line that holds a credential is blanked before anybody else sees the bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from minutebook.call import NoProviders, Providers
from minutebook.files import workspace
from minutebook.files.adopting_importers import Importer
from minutebook.files.adopting_links import resolved, settled_as, successor_in
from minutebook.files.adopting_walk import MARKS, Candidate, Walk
from minutebook.files.entries import Dialect, Entry, Kind, Parsed, alike
from minutebook.files.histories import agent_of
from minutebook.files.lines import sha256_of
from minutebook.files.reading import parse
from minutebook.files.safe import Root
from minutebook.files.sem import rfc_3339
from minutebook.model.adoption import Form, Ground, Mark, NotTaken, Piece, Sheet, Survey
from minutebook.model.errors import MinutebookError
from minutebook.policy.screening import Family, Tier, screen
from minutebook.policy.withholding import credential_lines, without_lines

#: Bytes of one file, and of all that one adoption reads.
MOST_BYTES = 16 * 1024 * 1024
MOST_BYTES_IN_ALL = 128 * 1024 * 1024

_ARCHIVE = re.compile(r"(?:^|/)(?:decisions-archive|decisions/archive\b.*|history-archive[\w.-]*)(?:\.md)?$")
_ALUMNUS = re.compile(r"(?:^|/)agents/_alumni/([^/]+)/")
_TEAM = re.compile(r"(?:^|/)agents/([^/_.][^/]*)/")
#: Dialects whose entries somebody took as settled before; what was only put before a team is not.
_SETTLED = frozenset(
    {
        Dialect.LEDGER,
        Dialect.HISTORY,
        Dialect.WISDOM,
        Dialect.CHARTER,
        Dialect.MIRROR,
        Dialect.NOTE,
        Dialect.ADR,
    }
)
_SAYS_NOTHING = frozenset({Kind.BLANK, Kind.HEADING, Kind.MATTER, Kind.COMMENT})
_WITH_SECRET = "it holds what looks like a credential"
_NO_MORE = "it says that it does not hold any more"


def survey(ground: Ground, providers: Providers | None = None) -> Survey:
    """Everything that can be adopted from a place. The caller's files alone, unless they may name any place."""
    root, place, inside = _where(ground)
    importer = None if ground.importer is None else Importer.of(ground.importer, providers or NoProviders())
    with Root(root) as opened:
        walk = Walk(
            opened,
            ground.form,
            named=bool(place) or not inside,
            patterns=() if importer is None else importer.patterns,
        )
        candidates = sorted(walk.files(place), key=lambda candidate: candidate.path)
        team = {match[1] for candidate in candidates if (match := _TEAM.search(candidate.path))}
        sheets: list[Sheet] = []
        left = MOST_BYTES_IN_ALL
        for candidate in candidates:
            try:
                found = opened.read(candidate.path, most=min(MOST_BYTES, max(left, 0)))
                if found is None:
                    continue  # it left since it was listed
                sheet = (
                    _sheet(candidate, found.data, team)
                    if importer is None
                    else _imported(importer, candidate.path, found.data)
                )
            except MinutebookError as error:
                walk.left_out.append(NotTaken(candidate.path, error.message))
                continue
            left -= len(found.data)
            sheets.append(sheet)
    return Survey(str(root), inside, tuple(resolved(sheets)), tuple(walk.left_out))


def _imported(importer: Importer, path: str, data: bytes) -> Sheet:
    """A file that an importer reads: what may not be kept of it, it is not shown either."""
    kept, blanked = _without_credentials(data, path)
    pieces, doubts = importer.read(path, kept, blanked)
    whole = _whole(path, Form.IMPORTER, importer.dialect, kept, data, blanked)
    return replace(whole, pieces=pieces, doubts=doubts, loose=importer.loose(kept, pieces))


def _where(ground: Ground) -> tuple[Path, str, bool]:
    """The root that paths are told from, the place below it, and whether the root is a workspace of the project."""
    workspaces = [root for root in ground.roots if _is_workspace(root, ground.project)]
    if ground.place is None and not workspaces:
        raise MinutebookError(
            "not_found",
            "No workspace of this project is known here.",
            hint="run `minutebook init` in the repository, or name a folder",
        )
    place = Path(os.path.normpath(ground.place or workspaces[0]))
    for root in workspaces:
        if place.is_relative_to(root):
            below = place.relative_to(root).as_posix()
            return root, "" if below == "." else below, True
    if not ground.anywhere:
        raise MinutebookError(
            "not_allowed",
            "Only files of a workspace of this project can be adopted from here.",
            hint="run `minutebook adopt` as yourself, in a directory that `minutebook init` bound",
        )
    if not place.exists():
        raise MinutebookError(
            "not_found", f"There is no file or folder {str(place)[:300]!r}.", path=str(place)
        )
    # The names of these folders say how to read what is in them.
    named = place.name in MARKS or re.fullmatch(r"adrs?|decisions|memory", place.name, re.IGNORECASE)
    if named or not place.is_dir():
        return place.parent, place.name, False
    return place, "", False


def _is_workspace(root: Path, project: str) -> bool:
    """Whether the directory's own file binds it to the project."""
    try:
        return workspace.read(root / workspace.FOLDER / workspace.NAME).project == project
    except MinutebookError:
        return False


def _sheet(candidate: Candidate, data: bytes, team: Iterable[str]) -> Sheet:
    """Read one file. What may not be kept of it is gone from here on."""
    path, form = candidate.path, candidate.form
    kept, blanked = _without_credentials(data, path)
    if not candidate.parsed:
        return _whole(path, form, "raw", kept, data, blanked)
    try:
        parsed = parse(path, kept, dialect=candidate.dialect, team=tuple(team))
    except MinutebookError as error:
        # Not text: kept as it is, and told.
        line = error.details.get("line")
        doubt = Mark(line if isinstance(line, int) else 1, error.message)
        return replace(_whole(path, form, "raw", kept, data, blanked), doubts=(doubt,))
    hidden = _entries_with_credentials(parsed, blanked)
    if hidden:
        kept = without_lines(kept.decode(), hidden).encode()
        blanked |= hidden
        parsed = parse(path, kept, dialect=candidate.dialect, team=tuple(team))
    pieces = tuple(_piece(same, parsed.dialect, path, blanked) for same in alike(parsed.entries))
    return replace(
        _whole(path, form, str(parsed.dialect), kept, data, blanked),
        pieces=pieces,
        loose=sum(raw.span.last - raw.span.first + 1 for raw in parsed.raws if raw.kind not in _SAYS_NOTHING),
        doubts=tuple(Mark(doubt.line, doubt.reason) for doubt in parsed.doubts),
    )


def _whole(path: str, form: Form, dialect: str, kept: bytes, data: bytes, blanked: dict[int, str]) -> Sheet:
    secrets = tuple(Mark(line, rule) for line, rule in sorted(blanked.items()))
    return Sheet(path=path, form=form, dialect=dialect, data=kept, digest=sha256_of(data), secrets=secrets)


def _without_credentials(data: bytes, path: str) -> tuple[bytes, dict[int, str]]:
    """The bytes that may be kept, and the lines that were blanked in them, by rule."""
    try:
        text, is_text = data.decode(), True
    except UnicodeDecodeError:
        text, is_text = data.decode("utf-8", "replace"), False
    found = credential_lines(text)
    if found is None or (found and not is_text):
        raise MinutebookError(
            "secret",
            "It holds what looks like a credential, and no lines that could be blanked; nothing of it is kept.",
            path=path,
        )
    return (without_lines(text, found).encode() if found else data), found


def _entries_with_credentials(parsed: Parsed, blanked: dict[int, str]) -> dict[int, str]:
    """Lines of entries that hold a credential only when their parts are read together."""
    found: dict[int, str] = {}
    for entry in parsed.entries:
        texts = {"title": entry.title, "content": entry.text, "rationale": entry.rationale or ""}
        rule = next(
            (
                finding.rule
                for finding in screen({name: text for name, text in texts.items() if text})
                if finding.family is Family.SECRET and finding.tier is Tier.REFUSE
            ),
            None,
        )
        if rule is not None:
            found |= dict.fromkeys(range(entry.span.first, entry.span.last + 1), rule)
    return {line: rule for line, rule in found.items() if line not in blanked}


def _piece(same: list[Entry], dialect: Dialect, path: str, blanked: dict[int, str]) -> Piece:
    entry = same[0]
    span = entry.span
    holds_secret = any(line in blanked for line in range(span.first, span.last + 1))
    alumnus = _ALUMNUS.search(path)
    of_agent = dialect in (Dialect.HISTORY, Dialect.CHARTER, Dialect.NOTE, Dialect.MIRROR)
    standing = settled_as(entry.get("status"))
    return Piece(
        first=span.first,
        last=span.last,
        digest=span.digest,
        title=entry.title,
        text=entry.text,
        type=entry.type,
        certainty=str(entry.certainty),
        authors=entry.authors,
        date=None if entry.date is None else rfc_3339(entry.date),
        rationale=entry.rationale,
        slug=entry.slug,
        tags=entry.tags,
        agent=(alumnus[1] if alumnus else agent_of(path)) if of_agent else None,
        repeated=tuple((other.span.first, other.span.last) for other in same[1:]),
        accepted=dialect in _SETTLED
        and (standing == "settled" or (standing == "" and dialect is not Dialect.ADR)),
        archived=_ARCHIVE.search(path) is not None,
        withheld=_WITH_SECRET if holds_secret else _NO_MORE if standing == "dead" else "",
        number=entry.get("number"),
        supersedes=entry.get("supersedes"),
        superseded_by=entry.get("superseded-by") or successor_in(entry.get("status")),
    )
