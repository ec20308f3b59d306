"""Sources: raw captured material, kept once for each content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from minutebook.ledger.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What is to be kept: words, where they are from, and how they came."""

    project: str
    #: manual, conversation, run, document or import
    kind: str
    title: str
    content: str
    #: a path, an address; None where there is none
    locator: str | None = None
    capture_mode: str | None = None
    consent: str | None = None
    run: str | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()


def keep(tx: Tx, id: str, material: Material, *, by: str, at: str) -> tuple[str, bool]:
    """Keep it, and return the id of the source and whether it is new; one that is known stays as it is."""
    digest = material.digest
    new = tx.run(
        """INSERT INTO sources (id, project_id, kind, title, locator, content, digest, size, capture_mode, consent,
                                run_id, created_by, created_at)
           VALUES (:id, :project, :kind, :title, :locator, :content, :digest, :size, :mode, :consent, :run, :by, :at)
           ON CONFLICT (project_id, digest) DO NOTHING""",
        id=id,
        project=material.project,
        kind=material.kind,
        title=material.title,
        locator=material.locator,
        content=material.content,
        digest=digest,
        size=len(material.content.encode()),
        mode=material.capture_mode,
        consent=material.consent,
        run=material.run,
        by=by,
        at=at,
    )
    row = tx.one(
        "SELECT id FROM sources WHERE project_id = :project AND digest = :digest",
        project=material.project,
        digest=digest,
    )
    assert row is not None
    return row["id"], bool(new)
