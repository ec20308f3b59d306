"""What became of the letters of the drop-box."""

from __future__ import annotations

from minutebook.ledger import inbox
from minutebook.ledger.database import Tx
from minutebook.model.inbox import Proposal


def proposals_of(tx: Tx, project: str, digest: str) -> list[Proposal]:
    """The proposals that were made of a file with these bytes, wherever it lay."""
    rows = tx.all(
        """SELECT p.id FROM proposals p JOIN sources s ON s.id = p.source_id
            WHERE s.project_id = :project AND s.digest = :digest ORDER BY p.id""",
        project=project,
        digest=digest,
    )
    found = (inbox.get(tx, row["id"]) for row in rows)
    return [proposal for proposal in found if proposal is not None]


def waiting(tx: Tx, project: str) -> int:
    """How many proposals of files wait in a project."""
    row = tx.one(
        """SELECT count(*) AS n FROM proposals
            WHERE project_id = :project AND status = 'pending' AND origin = 'file'""",
        project=project,
    )
    return 0 if row is None else row["n"]
