"""Sources: raw captured material, kept once for each content."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from hashlib import blake2b

from minutebook.ledger import claims
from minutebook.ledger.database import Row, Tx
from minutebook.model.captures import Source
from minutebook.model.errors import MinutebookError


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What is to be kept: words, where they are from, and how they came."""

    project: str
    #: manual, conversation, run, document or import
    kind: str
    title: str
    #: bytes where it is a file, which need not be text
    content: str | bytes
    #: a path, an address; None where there is none
    locator: str | None = None
    capture_mode: str | None = None
    consent: str | None = None
    run: str | None = None

    @property
    def data(self) -> bytes:
        """What is kept, byte for byte."""
        return self.content if isinstance(self.content, bytes) else self.content.encode()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def encoded(data: bytes) -> tuple[str, str]:
    """Bytes as a column holds them, and how: as they are where they are text, else in base 64."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    # PostgreSQL keeps no NUL in a text.
    return (text, "utf-8") if "\0" not in text else (base64.b64encode(data).decode(), "base64")


def decoded(content: str, encoding: str) -> bytes:
    """The bytes that `encoded` was given."""
    return content.encode() if encoding == "utf-8" else base64.b64decode(content)


def read(tx: Tx, id: str) -> bytes | None:
    """What a source holds, byte for byte; None where there is none, or its words were erased."""
    row = tx.one("SELECT content, encoding FROM sources WHERE id = :id", id=id)
    return None if row is None or row["content"] is None else decoded(row["content"], row["encoding"])


def keep(tx: Tx, id: str, material: Material, *, by: str, at: str) -> tuple[str, bool]:
    """Keep it, and return the id of the source and whether it is new; one that is known stays as it is.

    What was erased here is not kept again; what was let go because it was old is.
    """
    digest = material.digest
    _check_not_erased(tx, material)
    content, encoding = encoded(material.data)
    new = tx.run(
        """INSERT INTO sources (id, project_id, kind, title, locator, content, encoding, digest, size, capture_mode,
                                consent, run_id, created_by, created_at)
           VALUES (:id, :project, :kind, :title, :locator, :content, :encoding, :digest, :size, :mode, :consent, :run,
                   :by, :at)
           ON CONFLICT (project_id, digest) DO NOTHING""",
        id=id,
        project=material.project,
        kind=material.kind,
        title=material.title,
        locator=material.locator,
        content=content,
        encoding=encoding,
        digest=digest,
        size=len(material.data),
        mode=material.capture_mode,
        consent=material.consent,
        run=material.run,
        by=by,
        at=at,
    )
    row = tx.one(
        "SELECT id, pruned_at FROM sources WHERE project_id = :project AND digest = :digest",
        project=material.project,
        digest=digest,
    )
    assert row is not None
    if row["pruned_at"] is not None:
        tx.run(
            "UPDATE sources SET content = :content, encoding = :encoding, pruned_at = NULL WHERE id = :id",
            id=row["id"],
            content=content,
            encoding=encoding,
        )
    return row["id"], bool(new)


# --- reading ---------------------------------------------------------------------------------------------------


def get(tx: Tx, id: str) -> Source | None:
    """A source with its words, where they are text; `read` has the bytes."""
    row = tx.one("SELECT * FROM sources WHERE id = :id", id=id)
    return None if row is None else _source(row)


def list_(
    tx: Tx,
    project: str,
    *,
    kind: str | None = None,
    agent: str | None = None,
    after: str | None = None,
    limit: int,
) -> list[Source]:
    """Newest first, without their words. With an agent, what it brought and what its runs said."""
    clauses, params = "s.project_id = :project", {"project": project}
    for clause, name, value in (
        ("s.kind = :kind", "kind", kind),
        ("(s.created_by = :agent OR r.agent = :agent)", "agent", agent),
        ("s.id < :after", "after", after),
    ):
        if value is not None:
            clauses += f" AND {clause}"
            params[name] = value
    rows = tx.all(
        f"""SELECT s.id, s.project_id, s.kind, s.title, s.locator, s.digest, s.size, s.capture_mode, s.consent, s.run_id,
                  s.created_by, s.created_at, s.erased_at, s.pruned_at, NULL AS content, s.encoding
             FROM sources s LEFT JOIN runs r ON r.id = s.run_id
            WHERE {clauses} ORDER BY s.id DESC LIMIT :limit""",
        limit=limit,
        **params,
    )
    return [_source(row) for row in rows]


def of_run(tx: Tx, run: str) -> list[str]:
    """The ids of what was captured of a run, oldest first."""
    return [row["id"] for row in tx.all("SELECT id FROM sources WHERE run_id = :run ORDER BY id", run=run)]


# --- letting go ------------------------------------------------------------------------------------------------


def prunable(
    tx: Tx, before: str, *, project: str | None = None, kind: str | None = None, limit: int
) -> list[Source]:
    """Sources from before a time whose words are here still and that nothing waits for, oldest first."""
    clauses, params = "", {}
    for name, value in {"project_id": project, "kind": kind}.items():
        if value is not None:
            clauses += f" AND s.{name} = :{name}"
            params[name] = value
    rows = tx.all(
        f"""SELECT s.id, s.project_id, s.kind, s.title, s.locator, s.digest, s.size, s.capture_mode, s.consent, s.run_id,
                  s.created_by, s.created_at, s.erased_at, s.pruned_at, NULL AS content, s.encoding
             FROM sources s
            WHERE s.content IS NOT NULL AND s.created_at < :before{clauses}
              AND NOT EXISTS (SELECT 1 FROM ingestion_events i
                               WHERE i.source_id = s.id AND i.state IN ('queued', 'working', 'failed'))
            ORDER BY s.id LIMIT :limit""",
        before=before,
        limit=limit,
        **params,
    )
    return [_source(row) for row in rows]


def prune(tx: Tx, id: str, *, at: str) -> bool:
    """Let the words of a source go. What it was, and what came out of it, stays."""
    return bool(
        tx.run(
            "UPDATE sources SET content = NULL, pruned_at = :at WHERE id = :id AND content IS NOT NULL",
            id=id,
            at=at,
        )
    )


def erase(tx: Tx, source: Source, *, keys: claims.ClaimKeys, at: str) -> None:
    """Take the words and the title of a source away for good. A keyed hash stays, by which they are known again."""
    data = read(tx, source.id)
    known = data is None or source.digest.startswith("erased:")
    digest = source.digest if known else _keyed(keys.keys[0][1], data or b"")
    tx.run(
        """UPDATE sources SET content = NULL, title = '[erased]', locator = NULL, consent = NULL, digest = :digest,
                  erased_at = :at, pruned_at = NULL
            WHERE id = :id""",
        id=source.id,
        digest=digest,
        at=at,
    )


def _check_not_erased(tx: Tx, material: Material) -> None:
    found = erased(tx, material)
    if found is not None:
        raise MinutebookError(
            "erased", "This was erased here, or holds what was; it is not kept again.", source=found
        )


def erased(tx: Tx, material: Material) -> str | None:
    """The source that held exactly this before words of it were erased; None where there is none."""
    row = tx.one(
        """SELECT id FROM sources WHERE project_id = :project AND digest >= 'erased:' AND digest < 'erased;'
            LIMIT 1""",
        project=material.project,
    )
    keys = claims.keys(tx) if row is not None else None
    if keys is None:
        return None
    for _, secret in keys.keys:
        found = tx.one(
            "SELECT id FROM sources WHERE project_id = :project AND digest = :digest",
            project=material.project,
            digest=_keyed(secret, material.data),
        )
        if found is not None:
            return found["id"]
    return None


def reword(tx: Tx, source: Source, content: str, *, title: str, keys: claims.ClaimKeys) -> None:
    """Put other words in the place of a source's, of which some were erased. The first ones are known by a hash."""
    data = read(tx, source.id) or b""
    digest = source.digest if source.digest.startswith("erased:") else _keyed(keys.keys[0][1], data)
    tx.run(
        """UPDATE sources SET content = :content, title = :title, encoding = 'utf-8', digest = :digest
            WHERE id = :id""",
        id=source.id,
        title=title,
        content=content,
        digest=digest,
    )


def _keyed(secret: bytes, data: bytes) -> str:
    return "erased:" + blake2b(data, key=secret, digest_size=16).hexdigest()


def _source(row: Row) -> Source:
    content = row["content"]
    if content is not None and row["encoding"] != "utf-8":
        content = decoded(content, row["encoding"]).decode("utf-8", "replace")
    return Source(
        id=row["id"],
        project=row["project_id"],
        kind=row["kind"],
        title=row["title"],
        size=row["size"],
        digest=row["digest"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        content=content,
        locator=row["locator"],
        capture_mode=row["capture_mode"],
        consent=row["consent"],
        run=row["run_id"],
        erased_at=row["erased_at"],
        pruned_at=row["pruned_at"],
    )
