"""What becomes of what was found: each entry is known, proposed, or kept in its source alone. Reads, and decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from minutebook.ledger import adoptions, claims, manifest, memories, sources, tombstones
from minutebook.ledger.claims import ClaimKeys
from minutebook.ledger.database import Tx
from minutebook.ledger.sources import Material
from minutebook.model.adoption import NotTaken, Piece, Sheet, Survey
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence, EvidenceKind
from minutebook.model.memories import GOVERNING
from minutebook.model.scopes import Scope, Tier
from minutebook.model.text import canonical_slug, clean, fold_name, fold_tag, one_line, plain, slug_from
from minutebook.model.times import parse_time
from minutebook.model.tombstones import Cause
from minutebook.operations.given import title_from
from minutebook.policy.limits import Limits
from minutebook.policy.withholding import without_lines

_ERASED = "it was erased here"
#: Of the authors that a file names, so many become tags.
_AUTHORS = 3


@dataclass(frozen=True, slots=True)
class Item:
    """One entry, and what becomes of it."""

    sheet: Sheet
    piece: Piece
    #: without its source, which may not be kept yet
    candidate: Candidate | None
    becomes: str
    why: str = ""
    slug: str | None = None
    #: whether it was adopted before: then it is known, or it waits and is to be activated
    before: bool = False

    @property
    def where(self) -> str:
        piece = self.piece
        lines = str(piece.first) if piece.first == piece.last else f"{piece.first}-{piece.last}"
        return f"{self.sheet.path}:{lines}"

    @property
    def place(self) -> tuple[str, int]:
        return self.sheet.path, self.piece.first


@dataclass(frozen=True, slots=True)
class Plan:
    #: what was found, without what may not come back
    survey: Survey
    items: tuple[Item, ...]
    #: files that did not come in before
    new_files: frozenset[str]
    #: whether an adoption from this place was interrupted
    interrupted: bool


def planned(
    tx: Tx, survey: Survey, project: str, limits: Limits, *, now: str, activate: bool, adopter: str
) -> Plan:
    """Say of everything that was found what is to become of it, as the ledger stands."""
    keys = claims.keys(tx)
    new_files: set[str] = set()
    seen: dict[str, str] = {}
    items: list[Item] = []
    survey = _without_ours(tx, survey, project)
    sheets = [_without_erased(tx, sheet, survey, keys, project, now) for sheet in survey.sheets]
    for sheet in sheets:
        material = material_of(sheet, project)
        source = adoptions.source_of(tx, project, material.digest) or sources.erased(tx, material)
        if source is None or not adoptions.has_file(tx, project, sheet.path, source):
            new_files.add(sheet.path)
        done = {} if source is None else adoptions.entries_of(tx, source)
        for piece in sheet.pieces:
            candidate = candidate_of(piece, sheet, survey, project, now)
            becomes, why = (
                ("kept", _ERASED)
                if piece.withheld == _ERASED
                else _fate(piece, candidate, limits, activate=activate)
            )
            before = done.get(piece.first)
            if before is not None and not (before.waits and becomes in ("active", "archived")):
                becomes, why = "known", "it was adopted before"
            items.append(Item(sheet, piece, candidate, becomes, why, before=before is not None))
    return Plan(
        replace(survey, sheets=tuple(sheets)),
        tuple(_without_known(tx, items, keys, project, seen)),
        frozenset(new_files),
        adoptions.open_from(tx, project, survey.root, adopter),
    )


def _without_ours(tx: Tx, survey: Survey, project: str) -> Survey:
    """The survey without what minutebook itself wrote: a view of the ledger brings nothing to it."""
    ours = {sheet.path for sheet in survey.sheets if manifest.knows(tx, project, sheet.path, sheet.digest)}
    if not ours:
        return survey
    return replace(
        survey,
        sheets=tuple(sheet for sheet in survey.sheets if sheet.path not in ours),
        left_out=(
            *survey.left_out,
            NotTaken(_several(sorted(ours)), "written by minutebook, or taken in before"),
        ),
    )


def _several(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more"


def _without_erased(
    tx: Tx, sheet: Sheet, survey: Survey, keys: ClaimKeys | None, project: str, now: str
) -> Sheet:
    """The sheet without the lines of entries that were erased here: a file must not bring them back."""
    gone: set[int] = set()
    pieces: list[Piece] = []
    for piece in sheet.pieces:
        candidate = None if keys is None else candidate_of(piece, sheet, survey, project, now)
        if keys is None or candidate is None:
            pieces.append(piece)
            continue
        claimed = keys.all_claims(candidate.title, candidate.content)
        tombstone = tombstones.standing_on(tx, claimed, project, "")
        if tombstone is None or tombstone.cause is not Cause.ERASED:
            pieces.append(piece)
            continue
        pieces.append(replace(piece, withheld=_ERASED))
        for first, last in ((piece.first, piece.last), *piece.repeated):
            gone.update(range(first, last + 1))
    if not gone:
        return sheet
    return replace(sheet, data=without_lines(sheet.data.decode(), gone).encode(), pieces=tuple(pieces))


def _fate(piece: Piece, candidate: Candidate | None, limits: Limits, *, activate: bool) -> tuple[str, str]:
    if candidate is None:
        return "kept", "it says nothing"
    if len(candidate.content.encode()) > limits.content_bytes:
        return "kept", f"it is longer than {limits.content_bytes:,} bytes"
    active = activate and piece.accepted
    if piece.outlived and not active:
        return "kept", "another entry replaces it"
    if piece.withheld and not (piece.outlived and active):
        return "kept", piece.withheld
    if not active:
        return "proposed", ""
    return ("archived" if piece.archived else "active"), ""


def _without_known(
    tx: Tx, items: Iterable[Item], keys: ClaimKeys | None, project: str, seen: dict[str, str]
) -> list[Item]:
    """The same items; what the ledger or an earlier item says already is known.

    What two agents remember alike is each one's own.
    """
    given = list(items)
    claimed = [None if keys is None else claim_of(keys, item) for item in given]
    proposed = adoptions.ever_proposed(tx, project, [claim for claim in claimed if claim])
    found: list[Item] = []
    for item, claim in zip(given, claimed, strict=True):
        becomes, why = item.becomes, item.why
        candidate = item.candidate
        agent = "" if candidate is None else candidate.scope.agent
        form = (
            "" if candidate is None else f"{agent} {claims.normal_form(candidate.title, candidate.content)}"
        )
        if candidate is not None and becomes not in ("kept", "known") and not item.before:
            if claim is not None and (claim, agent) in proposed:
                becomes, why = "known", "it was proposed before"
            elif claim is not None and memories.of_claim(tx, candidate.scope, claim):
                becomes, why = "known", "it is remembered already"
            elif form in seen:
                becomes, why = "known", f"{seen[form]} says the same"
            else:
                seen[form] = item.where
        found.append(replace(item, becomes=becomes, why=why))
    return found


def claim_of(keys: ClaimKeys, item: Item) -> str | None:
    return None if item.candidate is None else keys.claim(item.candidate.title, item.candidate.content)


# --- building -----------------------------------------------------------------------------------------


def material_of(sheet: Sheet, project: str) -> Material:
    """A file as it is kept: all of it that may be."""
    return Material(
        project=project,
        kind="import",
        title=sheet.path,
        content=sheet.data,
        locator=sheet.path,
        capture_mode="adoption",
    )


def candidate_of(piece: Piece, sheet: Sheet, survey: Survey, project: str, now: str) -> Candidate | None:
    """What is asked for an entry: its words as they stand, and what the file says about them; None if nothing."""
    content = clean(piece.text).strip("\n") or clean(piece.rationale or "").strip() or one_line(piece.title)
    if not plain(content).strip():
        return None
    rationale = clean(piece.rationale or "").strip() or None
    limits = Limits()
    if rationale is not None and len(rationale.encode()) > limits.rationale_bytes:
        content, rationale = f"{content}\n\n{rationale}", None
    if rationale == content:
        rationale = None
    title = one_line(piece.title)[: limits.title_chars] or title_from(content)
    if not plain(title).strip():
        title = title_from(content)
    return Candidate(
        scope=_scope(piece, project),
        type=piece.type,
        title=title,
        content=content,
        slug=_slug(piece, title, content),
        slug_given=False,
        rationale=rationale,
        tags=_tags(piece),
        evidence=_evidence(piece, sheet, survey),
        observed_at=None if piece.date is None else parse_time(piece.date, now),
        propose=True,
    )


def _scope(piece: Piece, project: str) -> Scope:
    """An agent's own, where its folder tells whose it is and it does not govern; else the project's, never wider."""
    if piece.agent is None or piece.type in GOVERNING:
        return Scope.of_project(project)
    return Scope.of_agent(project, fold_name(piece.agent), Tier.PROJECT)


def _slug(piece: Piece, title: str, content: str) -> str:
    try:
        return canonical_slug(piece.slug) if piece.slug else slug_from(title, content)
    except MinutebookError:
        return slug_from(title, content)  # a file's name that no slug can be made of


def _tags(piece: Piece) -> tuple[str, ...]:
    """The file's own tags, who it says wrote it, and that it was put away: claims of the file, and no more."""
    wanted = [f"by:{author}" for author in piece.authors[:_AUTHORS]]
    wanted += ["archived"] if piece.archived else []
    wanted += piece.tags
    found: dict[str, None] = {}
    for tag in wanted:
        try:
            found[fold_tag(tag)] = None
        except MinutebookError:
            continue  # no tag by our rules; the words are in the source
    return tuple(list(found)[: Limits().tags])


def _evidence(piece: Piece, sheet: Sheet, survey: Survey) -> tuple[Evidence, ...]:
    span = str(piece.first) if piece.first == piece.last else f"{piece.first}-{piece.last}"
    # Outside a workspace a path means nothing to others, and a letter of the drop-box gives way to its mirrored form;
    # the source, which is added later, has the lines for good.
    if not survey.inside or sheet.dialect == "drop-box":
        return (Evidence(EvidenceKind.SOURCE, "", span, piece.digest),)
    return (Evidence(EvidenceKind.FILE, sheet.path, span, piece.digest),)


def with_source(candidate: Candidate, source: str) -> Candidate:
    """The candidate, resting on the source that holds its file."""
    evidence = tuple(
        replace(piece, ref=source) if piece.kind is EvidenceKind.SOURCE else piece
        for piece in candidate.evidence
    )
    return replace(candidate, source=source, evidence=evidence)


def in_order(items: Iterable[Item]) -> list[Item]:
    """Items in the order of their files, but an entry after the one that it replaces, wherever that stands."""
    given = list(items)
    by_place = {item.place: item for item in given}
    done: set[tuple[str, int]] = set()
    found: list[Item] = []
    for item in given:
        chain = [item]
        while (
            (older := chain[-1].piece.replaces) is not None and older in by_place and len(chain) <= len(given)
        ):
            chain.append(by_place[older])
        for one in reversed(chain):
            if one.place not in done:
                done.add(one.place)
                found.append(one)
    return found
