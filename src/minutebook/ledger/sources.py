"""Sources: raw captured material, kept once for each content."""

from __future__ import annotations

import hashlib

from minutebook.ledger.database import Tx


def keep_transcript(
    tx: Tx, id: str, *, project: str, run: str, title: str, content: str, by: str, at: str
) -> str:
    """Keep what was said in a run, and return the id of the source; one that is known already stays as it is."""
    data = content.encode()
    digest = hashlib.sha256(data).hexdigest()
    tx.run(
        """INSERT INTO sources (id, project_id, kind, title, locator, content, digest, size, capture_mode, run_id,
                                created_by, created_at)
           VALUES (:id, :project, 'run', :title, NULL, :content, :digest, :size, 'transcript', :run, :by, :at)
           ON CONFLICT (project_id, digest) DO NOTHING""",
        id=id,
        project=project,
        title=title,
        content=content,
        digest=digest,
        size=len(data),
        run=run,
        by=by,
        at=at,
    )
    row = tx.one(
        "SELECT id FROM sources WHERE project_id = :project AND digest = :digest",
        project=project,
        digest=digest,
    )
    assert row is not None
    return row["id"]
