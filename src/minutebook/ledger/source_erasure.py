"""What erasing must reach besides memories: the raw material that the words came from, and what runs said of them.

A source is raw: the words stand there as they were said, in the spelling of its form, and nothing but the words
themselves tells where. They are looked for by their lines, where a piece of evidence names these, and by what they
say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from minutebook.ledger import sources
from minutebook.ledger.claims import ClaimKeys
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import load_evidence
from minutebook.model.captures import Source
from minutebook.model.evidence import Evidence, EvidenceKind

ERASED = "[erased]"
#: Shorter texts stand in too many others by chance to be looked for.
_FEWEST = 12
#: So much of a text at the beginning of a title is a quotation.
_BEGINNING = 24
#: Columns beside sources in which somebody may have said the same words.
_BESIDE = {
    "runs": ("task", "summary", "report"),
    "sessions": ("focus", "summary", "issues"),
    "session_revisions": ("state",),
    "ingestion_events": ("error",),
    "jobs": ("payload", "error", "outcome"),
}
_KEYS = {"session_revisions": ("session_id", "revision")}
_OF_PROJECT = {
    "session_revisions": "session_id IN (SELECT id FROM sessions WHERE project_id = :project)",
}

#: Tables that PostgreSQL writes anew, so that the bytes leave the disk.
TABLES = ("sources", "ingestion_events", "jobs", "sessions", "session_revisions")


@dataclass(frozen=True, slots=True)
class Said:
    """Words that are to go, and the places that they were cited from."""

    words: frozenset[str]
    places: tuple[Evidence, ...] = ()

    @property
    def spellings(self) -> list[str]:
        """As they stand, and as JSON spells them; the longest first."""
        long = {text.strip() for text in self.words if len(text.strip()) >= _FEWEST}
        spelled = {json.dumps(text, ensure_ascii=plain)[1:-1] for text in long for plain in (True, False)}
        twice = {json.dumps(text)[1:-1] for text in spelled}
        return sorted(long | spelled | twice, key=len, reverse=True)


def scrub(tx: Tx, project: str | None, said: Said, keys: ClaimKeys) -> None:
    """Take words out of every source, run, session and job of a project; None is all of them."""
    for id in _holding(tx, project, said):
        source = sources.get(tx, id)
        if source is None or source.content is None:
            continue
        content = without(source, said)
        if content != source.content:
            sources.reword(tx, source, content, title=_untitled(source.title, said), keys=keys)
    for table, columns in _BESIDE.items():
        _scrub_beside(tx, project, table, columns, said)


def without(source: Source, said: Said) -> str:
    """The words of a source without those lines and those words."""
    lines = (source.content or "").split("\n")
    for place in said.places:
        if place.ref == source.id and place.span is not None:
            first, _, last = place.span.partition("-")
            for number in range(int(first), min(int(last or first), len(lines)) + 1):
                lines[number - 1] = ERASED
    return unsaid("\n".join(lines), said)


def _untitled(title: str, said: Said) -> str:
    """A title, unless it quotes the beginning of what is to go: titles are made from words, and cut."""
    begun = {text.strip()[:_BEGINNING] for text in said.words if len(text.strip()) >= _FEWEST}
    cut = title.rstrip("…").strip()
    quotes = any(start in title for start in begun) or any(cut and cut in text for text in said.words)
    return ERASED if quotes else title


def unsaid(text: str, said: Said) -> str:
    for words in said.spellings:
        text = text.replace(words, ERASED)
    return text


def _holding(tx: Tx, project: str | None, said: Said) -> list[str]:
    found = {place.ref for place in said.places if place.kind is EvidenceKind.SOURCE}
    only, params = _only(project)
    for words in said.spellings:
        rows = tx.all(
            f"SELECT id FROM sources WHERE content LIKE :like ESCAPE '!'{only}", like=_like(words), **params
        )
        found |= {row["id"] for row in rows}
    return sorted(found)


def _only(project: str | None) -> tuple[str, dict[str, str]]:
    return ("", {}) if project is None else (" AND project_id = :project", {"project": project})


def _like(words: str) -> str:
    """A pattern that finds at least every text that holds the words; SQLite takes case lightly in it."""
    for sign in "!%_":
        words = words.replace(sign, "!" + sign)
    return f"%{words}%"


def _scrub_beside(tx: Tx, project: str | None, table: str, columns: tuple[str, ...], said: Said) -> None:
    key = _KEYS.get(table, ("id",))
    clause = _OF_PROJECT.get(table, "project_id = :project")
    only, params = ("", {}) if project is None else (f" AND {clause}", {"project": project})
    for words in said.spellings:
        anywhere = " OR ".join(f"{column} LIKE :like ESCAPE '!'" for column in columns)
        rows = tx.all(f"SELECT * FROM {table} WHERE ({anywhere}){only}", like=_like(words), **params)
        for row in rows:
            changed = {
                column: unsaid(row[column], said)
                for column in columns
                if row[column] is not None and unsaid(row[column], said) != row[column]
            }
            if changed:
                tx.forget()  # what is remembered of a row holds its words
                tx.run(
                    f"""UPDATE {table} SET {", ".join(f"{name} = :{name}" for name in changed)}
                         WHERE {" AND ".join(f"{name} = :key_{name}" for name in key)}""",
                    **changed,
                    **{f"key_{name}": row[name] for name in key},
                )


def places_of(rows: Iterable[str]) -> tuple[Evidence, ...]:
    """The sources that evidence names, out of what memories and proposals keep of it."""
    found = [piece for row in rows for piece in load_evidence(row) if piece.kind is EvidenceKind.SOURCE]
    return tuple(dict.fromkeys(found))


# --- what came out of a source -----------------------------------------------------------------------------------


def memories_of(tx: Tx, source: str) -> list[str]:
    """Memories that were made from a source, or from a proposal out of it, and have words still."""
    rows = tx.all(
        """SELECT id FROM memories
            WHERE status <> 'erased' AND (source_id = :source
                  OR proposal_id IN (SELECT p.id FROM proposals p WHERE p.source_id = :source))
            ORDER BY id""",
        source=source,
    )
    return [row["id"] for row in rows]


def proposals_of(tx: Tx, source: str) -> list[str]:
    """Proposals out of a source that became no memory, and have words still."""
    rows = tx.all(
        """SELECT id FROM proposals WHERE source_id = :source AND memory_id IS NULL AND content <> '[erased]'
            ORDER BY id""",
        source=source,
    )
    return [row["id"] for row in rows]


def derived_from(tx: Tx, memory: str) -> list[str]:
    """Memories that the house itself made out of another one, and that have words still."""
    rows = tx.all(
        """SELECT m.id FROM memory_links l JOIN memories m ON m.id = l.from_id
            WHERE l.to_id = :memory AND l.relation = 'derived_from' AND m.status <> 'erased'
              AND m.origin IN ('consolidation', 'extraction')
            ORDER BY m.id""",
        memory=memory,
    )
    return [row["id"] for row in rows]


# --- a row of an archive -----------------------------------------------------------------------------------------


def without_words(row: Row, refs: Collection[str], says: Callable[[str, str], bool]) -> Row:
    """An archived source as it is once what was erased is gone: whole ones by id, pieces by what they say."""
    if row["id"] in refs:
        return {
            **row,
            "content": None,
            "title": ERASED,
            "locator": None,
            "consent": None,
            "erased_at": row["erased_at"] or row["created_at"],
        }
    if row["content"] is None or row.get("encoding", "utf-8") != "utf-8":
        return dict(row)
    # The rules take a while to load, and hardly anybody ever comes here.
    from minutebook.policy.extraction.extract import extract

    lines = row["content"].split("\n")
    changed = False
    for finding in extract(row["content"]).findings:
        if says(finding.title or "", finding.content):
            changed = True
            lines[finding.first - 1 : finding.last] = [ERASED] * (finding.last - finding.first + 1)
    return {**row, "content": "\n".join(lines)} if changed else dict(row)
