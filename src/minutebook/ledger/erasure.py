"""What erasing must reach: every row that holds the words, or quotes the name that was made from them.

One description of it serves three ways: the erasure itself, an archive that comes in from before it, and a
restored backup that does not know of it. For that last one a list of erasures lies beside the database.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minutebook.ledger import manifest, memories, searches, signals, source_erasure, vectors
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import dump, dump_state, load, load_state
from minutebook.model.errors import MinutebookError
from minutebook.model.scopes import GLOBAL
from minutebook.policy.snapshots import without_words as without_items

#: What stands where words were.
ERASED = "[erased]"

#: Tables that held erased words; PostgreSQL writes them anew, so that the bytes leave the disk.
TABLES = (
    "memories",
    "revisions",
    "proposals",
    "verdicts",
    "events",
    "tombstones",
    "texts",
    "requests",
    "tags",
    "bands",
    "shelves",
    "vectors",
    "spellings",
    "searches",
    "signals",
    "snapshots",
    "runs",
)

#: Prose that may quote a slug of something else, in single quotes.
_PROSE = {
    "verdicts": ("reason", "trace"),
    "proposals": ("would", "reason"),
    "tombstones": ("reason",),
    "requests": ("answer",),
    "runs": ("report",),
}
_KEYS = {
    "requests": ("actor", "key"),
    "revisions": ("memory_id", "revision"),
    "events": ("seq",),
    "snapshots": ("run_id", "generation"),
}
_FILE = "erasures.jsonl"


def _says_nothing(_title: str, _content: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Gone:
    """What is to go: rows by id, the slugs they bore, and words by what they say."""

    #: memories, proposals, and the verdicts and tombstones on them
    refs: frozenset[str]
    slugs: frozenset[str]
    #: where the slugs may stand quoted; None is everywhere
    project: str | None = None
    #: whether a title and content say what was erased, whatever row they stand in
    says: Callable[[str, str], bool] = _says_nothing

    def __bool__(self) -> bool:
        return bool(self.refs) or self.says is not _says_nothing


def name_of(id: str) -> str:
    """The slug of what was erased."""
    return f"erased-{id.lower()}"


# --- one row -----------------------------------------------------------------------------------------


def without_words(table: str, row: Row, gone: Gone) -> Row:
    """A row of an archived table as it is once the words are gone; the same row if it held none."""
    work = _WAYS.get(table)
    changed = dict(row) if work is None else work(row, gone)
    if gone.project is None or row.get("project_id", GLOBAL) in (gone.project, GLOBAL):
        for column in _PROSE.get(table, ()):
            if column in changed:
                changed[column] = _unquoted(changed[column], gone.slugs)
    return changed


def _unquoted(text: str | None, slugs: Collection[str]) -> str | None:
    if text is None or "'" not in text:
        return text
    for slug in slugs:
        text = text.replace(f"'{slug}'", f"'{ERASED}'")
    return text


def _memory(row: Row, gone: Gone) -> Row:
    if row["id"] not in gone.refs and not gone.says(row["title"], row["content"]):
        return dict(row)
    return {
        **row,
        "title": ERASED,
        "content": ERASED,
        "slug": name_of(row["id"]),
        "status": "erased",
        "tags": "[]",
        "evidence": "[]",
        **dict.fromkeys(("summary", "rationale", "entity", "attribute")),
    }


def _revision(row: Row, gone: Gone) -> Row:
    state = load_state(row["state"], id=row["memory_id"], revision=row["revision"], seq=row["seq"])
    if row["memory_id"] not in gone.refs and not gone.says(state.title, state.content):
        return dict(row)
    return {**row, "state": dump_state(memories.blanked(state, ERASED))}


def _proposal(row: Row, gone: Gone) -> Row:
    here = row["id"] in gone.refs or (row["memory_id"] is not None and row["memory_id"] in gone.refs)
    if not here and not gone.says(row["title"], row["content"]):
        return dict(row)
    would = load(row["would"])
    return {
        **row,
        "title": ERASED,
        "content": ERASED,
        "slug": name_of(row["id"]),
        "requested_slug": name_of(row["id"]),
        # Nothing is left to decide about.
        "status": "rejected" if row["status"] == "pending" else row["status"],
        "would": dump([*would[:5], ""]),
        "tags": "[]",
        "evidence": "[]",
        **dict.fromkeys(("rationale", "entity", "attribute", "edits", "reason")),
    }


def _verdict(row: Row, gone: Gone) -> Row:
    material = load(row["candidate"]) if row["candidate"] is not None else {}
    on_it = bool(gone.refs & {row["id"], row["memory_id"], row["proposal_id"]})
    if not on_it and not ("content" in material and gone.says(material["title"], material["content"])):
        return dict(row)
    trace = load(row["trace"])
    if any(hit[0] == "erase" for hit in trace):
        return dict(row)  # the verdict that erased: its reason is the operator's, for the record
    # Who judged, by which rules and with what outcome stays; what they said about it may quote it.
    bare = dump([[rule, outcome, "", target] for rule, outcome, _detail, target in trace])
    return {**row, "candidate": None, "reason": ERASED, "trace": bare}


def _event(row: Row, gone: Gone) -> Row:
    changed = dict(row)
    detail = load(row["detail"]) if row["detail"] is not None else {}
    on_it = {row["subject"], row["verdict_id"], detail.get("memory")} & gone.refs
    if on_it and ("slug" in detail or "reason" in detail):
        kept = {name: value for name, value in detail.items() if name != "reason"}
        if kept.get("slug") in gone.slugs:
            kept["slug"] = ERASED
        changed["detail"] = dump(kept)
    return changed


def _tombstone(row: Row, gone: Gone) -> Row:
    if row["ref"] not in gone.refs:
        return dict(row)
    reason = row["reason"] if row["cause"] == "erased" else ERASED
    slug = row["slug"] if row["slug"] == name_of(row["ref"]) else ERASED
    return {**row, "slug": slug, "reason": reason}


def _snapshot(row: Row, gone: Gone) -> Row:
    if row["bundle"] is None or not _names(row["bundle"], gone):
        return dict(row)
    return {**row, "bundle": dump(_unsaid(load(row["bundle"]), gone))}


def _run(row: Row, gone: Gone) -> Row:
    if row.get("report") is None or not _names(row["report"], gone):
        return dict(row)
    return {**row, "report": dump(_unsaid(load(row["report"]), gone))}


def _request(row: Row, gone: Gone) -> Row:
    if not _names(row["answer"], gone):
        return dict(row)
    return {**row, "answer": json.dumps(_unsaid(load(row["answer"]), gone), ensure_ascii=False)}


def _names(text: str, gone: Gone) -> bool:
    return any(ref in text for ref in gone.refs)


def _unsaid(value: Any, gone: Gone) -> Any:
    """A bundle, a report, or an answer that holds one, without the words of what is gone and without its name."""
    if isinstance(value, list):
        return [_unsaid(item, gone) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _unsaid(item, gone) for name, item in value.items()}
    if "items" in value and "text" in value:
        lost = [place for place, item in enumerate(value["items"]) if item["id"] in gone.refs]
        kept["text"] = without_items(value["text"], lost, ERASED)
    about = gone.refs & {value.get(name) for name in ("id", "memory", "proposal") if value.get(name)}
    if about and "slug" in value and ("layer" in value or "rule" in value or "because" in value):
        kept["slug"] = name_of(value.get("id") or value["proposal"])
        if "because" in value:
            kept["because"] = ""
    return kept


_WAYS: dict[str, Callable[[Row, Gone], Row]] = {
    "memories": _memory,
    "revisions": _revision,
    "proposals": _proposal,
    "verdicts": _verdict,
    "events": _event,
    "tombstones": _tombstone,
    "snapshots": _snapshot,
    "runs": _run,
    "requests": _request,
    "sources": lambda row, gone: source_erasure.without_words(row, gone.refs, gone.says),
}


# --- all rows of the ledger --------------------------------------------------------------------------


def reach(tx: Tx, refs: Collection[str], *, claims: Collection[str]) -> frozenset[str]:
    """The refs with every verdict and tombstone on them, and verdicts on the same words elsewhere."""
    found = set(refs)
    for ref in refs:
        rows = tx.all("SELECT id FROM verdicts WHERE memory_id = :ref OR proposal_id = :ref", ref=ref)
        found |= {row["id"] for row in rows}
        found |= {row["id"] for row in tx.all("SELECT id FROM tombstones WHERE ref = :ref", ref=ref)}
    for claim in claims:
        # What was refused is attached to nothing but what it said.
        rows = tx.all(
            """SELECT id FROM verdicts WHERE digest = :claim
                AND (memory_id IS NULL AND proposal_id IS NULL)""",
            claim=claim,
        )
        found |= {row["id"] for row in rows}
    return frozenset(found)


def scrub(tx: Tx, gone: Gone) -> None:
    """Take the words out of every row of the ledger that holds or quotes them."""
    for ref in sorted(gone.refs):
        _rewrite(tx, gone, "memories", "id = :ref", ref=ref)
        _rewrite(tx, gone, "revisions", "memory_id = :ref", ref=ref)
        _rewrite(tx, gone, "proposals", "id = :ref OR memory_id = :ref", ref=ref)
        _rewrite(tx, gone, "verdicts", "id = :ref", ref=ref)
        _rewrite(tx, gone, "tombstones", "ref = :ref", ref=ref)
        _rewrite(tx, gone, "events", "subject = :ref", ref=ref)
        if _has_words(tx, ref):
            # Runs were told of it, or told not: by its name, if not by its words.
            _rewrite(tx, gone, "snapshots", "bundle LIKE :like", like=f"%{ref}%")
            _rewrite(tx, gone, "runs", "report LIKE :like", like=f"%{ref}%")
            _rewrite(tx, gone, "requests", "answer LIKE :like", like=f"%{ref}%")
            # Who found it may have quoted it in the question.
            searches.forget(tx, ref)
            signals.forget(tx, ref)
        tx.run("UPDATE memories SET claim = '' WHERE id = :ref", ref=ref)
        tx.run("UPDATE proposals SET claim = '' WHERE id = :ref OR memory_id = :ref", ref=ref)
        tx.run("DELETE FROM tags WHERE ref = :ref", ref=ref)
        vectors.remove(tx, ref)
        _forget_requests(tx, ref, gone)
    _rewrite(tx, gone, "events", f"verdict_id IN ({_quoted_ids(gone.refs)})")
    for slug in sorted(gone.slugs):
        for table, columns in _PROSE.items():
            clause = " OR ".join(f"{column} LIKE :quoted" for column in columns)
            _rewrite(tx, gone, table, clause, quoted=f"%'{slug}'%")
    manifest.forget_names(tx, sorted(gone.slugs))


def _has_words(tx: Tx, ref: str) -> bool:
    """Whether a ref is a memory or a proposal, and not a verdict or a tombstone on one."""
    row = tx.one(
        "SELECT 1 AS yes FROM memories WHERE id = :ref UNION ALL SELECT 1 FROM proposals WHERE id = :ref",
        ref=ref,
    )
    return row is not None


def _quoted_ids(ids: Collection[str]) -> str:
    return ", ".join(f"'{id}'" for id in sorted(ids) if id.isalnum()) or "''"


def _rewrite(tx: Tx, gone: Gone, table: str, clause: str, **params: Any) -> None:
    key = _KEYS.get(table, ("id",))
    for row in tx.all(f"SELECT * FROM {table} WHERE {clause}", **params):
        changed = {
            name: value for name, value in without_words(table, row, gone).items() if value != row[name]
        }
        if changed:
            tx.forget()  # what is remembered of a row holds its words
            tx.run(
                f"""UPDATE {table} SET {", ".join(f"{name} = :{name}" for name in changed)}
                     WHERE {" AND ".join(f"{name} = :key_{name}" for name in key)}""",
                **changed,
                **{f"key_{name}": row[name] for name in key},
            )


def _forget_requests(tx: Tx, ref: str, gone: Gone) -> None:
    """Forget first answers about it. A retry is then judged anew, and meets the tombstone."""
    for row in tx.all("SELECT actor, key, answer FROM requests WHERE answer LIKE :like", like=f"%{ref}%"):
        if answers_about(row["answer"], gone):
            tx.run(
                "DELETE FROM requests WHERE actor = :actor AND key = :key", actor=row["actor"], key=row["key"]
            )


def answers_about(text: str, gone: Gone) -> bool:
    """Whether the first answer to a request was about something that is gone, and not merely names it."""
    answer = load(text)
    said = answer.get("value") or answer.get("error", {}).get("details")
    if not isinstance(said, dict):
        return False
    return any(said.get(name) in gone.refs for name in ("memory", "proposal", "verdict", "id"))


# --- the list beside the database --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure, as the list tells it: ids and keyed hashes, never words."""

    ref: str
    project: str
    at: str
    by: str
    #: the key of the hashes, which lies in the ledger
    key: str
    claims: tuple[str, ...]


def known(tx: Tx) -> list[Erasure]:
    """Every erasure that a ledger knows of and that nobody lifted."""
    found: dict[tuple[str, str], Erasure] = {}
    for row in tx.all(
        "SELECT * FROM tombstones WHERE cause = 'erased' AND lifted_at IS NULL ORDER BY seq, id"
    ):
        place = (row["ref"], row["key_id"])
        one = found.get(place) or Erasure(
            row["ref"], row["project_id"], row["at"], row["actor"], row["key_id"], ()
        )
        found[place] = replace(one, claims=(*one.claims, row["claim"]))
    return list(found.values())


def lay_again(tx: Tx, erasures: Iterable[Erasure], *, new_id: Callable[[], str], seq: int) -> None:
    """Lay the tombstones of erasures that this ledger does not know of."""
    present = {row["id"] for row in tx.all("SELECT id FROM claim_keys")}
    projects = {row["id"] for row in tx.all("SELECT id FROM projects")}
    for erasure in erasures:
        if erasure.key not in present:
            continue  # under a key that nobody has any more, a hash says nothing
        for claim in erasure.claims:
            tx.run(
                """INSERT INTO tombstones
                          (id, project_id, cause, key_id, claim, ref, slug, actor, reason, at, seq)
                   SELECT :id, :project, 'erased', :key, :claim, :ref, :slug, :actor, :reason, :at, :seq
                    WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE ref = :ref AND claim = :claim)""",
                id=new_id(),
                # What is erased stays away everywhere, so where its project is not known any project will do.
                project=erasure.project if erasure.project in projects else "global",
                key=erasure.key,
                claim=claim,
                ref=erasure.ref,
                slug=name_of(erasure.ref),
                actor=erasure.by,
                reason="It was erased before, as the list of erasures says.",
                at=erasure.at,
                seq=seq,
            )


def note(home: Path, erasure: Erasure) -> None:
    """Add to the list of erasures, durably."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps({name: getattr(erasure, name) for name in Erasure.__slots__}).encode() + b"\n"
    descriptor = os.open(home / _FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        whole, last = _ended_lines(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
        if last and _reads(last):
            line = b"\n" + line
        elif last:
            # What a crash cut off in its middle would make the list unreadable; the ledger knows it still.
            os.ftruncate(descriptor, whole)
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ended_lines(content: bytes) -> tuple[int, bytes]:
    """How many bytes are lines with an end, and the rest."""
    whole = content.rfind(b"\n") + 1
    return whole, content[whole:]


def _reads(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def noted(home: Path) -> list[Erasure]:
    """Every erasure that the list of this home tells of."""
    path = home / _FILE
    if not path.exists():
        return []
    *lines, torn = path.read_text("utf-8").split("\n")
    if torn:
        lines.append(torn)  # a crash may have cut it off; if it still reads as one, it counts
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            found.append(Erasure(**{**entry, "claims": tuple(entry["claims"])}))
        except (ValueError, TypeError, KeyError) as error:
            if line is torn:
                continue
            raise MinutebookError(
                "io_error",
                f"Line {number} of {path} cannot be read, and without it erased words could come back.",
                hint="mend the line by hand: each is one JSON object",
                path=str(path),
            ) from error
    return found
