"""An archive coming into a ledger: everything or nothing, and twice is the same as once.

What is here already stands. A row of the same id and other content is a conflict, told and never overwritten;
an active memory whose name is taken, or whose claim was buried here, is put away; words that were erased here
are not stored at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutebook.ledger import archive, claims, erasure, inbox, memories
from minutebook.ledger.archive import Table
from minutebook.ledger.archive_reading import Archive
from minutebook.ledger.claims import ClaimKeys
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.erasure import Erasure, Gone
from minutebook.ledger.plain import dump, load
from minutebook.model.system import Aside, Clash
from minutebook.policy.slugs import numbered

_TABLES = {table.name: table for table in archive.TABLES}

#: Columns that a ledger may word for itself: they do not make two rows different.
_OWN_WORDING = {
    "projects": {"slug", "name", "archived_at"},
    "workspaces": {"first_seen_at", "last_seen_at"},
    "repos": {"slug"},
    "actors": {"name", "role", "project_id", "created_at", "retired_at"},
    "proposals": {"slug"},
    "sessions": {"session", "ended_at", "ended_by"},
    "saved_views": {"name"},
}
#: Names that are unique here: the table, what they are unique within, and the name.
_NAMED = {
    "projects": ((), "slug"),
    "repos": (("project_id",), "slug"),
    "proposals": (("project_id",), "slug"),
    "sessions": (("project_id",), "session"),
    "saved_views": (("project_id",), "name"),
}
_IDENTITY = ("project_id", "scope", "tier", "agent", "repo_id", "session_id", "type", "slug")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms an archive comes in."""

    actor: str
    now: str
    new_id: Callable[[], str]
    secret: Callable[[], str]
    #: what the list beside the database says was erased
    noted: Sequence[Erasure] = ()
    #: also what was of the other copy alone, as a restore wants it
    whole: bool = False


@dataclass(slots=True)
class Arrival:
    """What came in."""

    rows: dict[str, int] = field(default_factory=dict)
    known: int = 0
    conflicts: list[Clash] = field(default_factory=list)
    asides: list[Aside] = field(default_factory=list)


def receive(tx: Tx, source: Archive, terms: Terms) -> Arrival:
    """Bring the rows of an archive into the ledger, inside one transaction."""
    return _Reception(tx, source, terms).run()


def projects_in(source: Archive) -> list[str]:
    return [row["id"] for row in source.rows(_TABLES["projects"])]


def is_empty(tx: Tx) -> bool:
    """Whether nothing was ever written to the ledger."""
    return (
        tx.one("SELECT seq FROM events LIMIT 1") is None
        and tx.one("SELECT id FROM projects WHERE id <> 'global' LIMIT 1") is None
        and tx.one("SELECT id FROM memories LIMIT 1") is None
    )


class _Reception:
    """One archive being received."""

    def __init__(self, tx: Tx, source: Archive, terms: Terms) -> None:
        self.tx = tx
        self.source = source
        self.terms = terms
        self.arrival = Arrival()
        self.fresh = is_empty(tx)
        self.gone = Gone(frozenset(), frozenset())
        #: an event's place in the archive -> its number here
        self.seqs: list[int] = [0]
        #: memories that stay as they are here, and those that come in put away
        self.clashed: set[str] = set()
        self.put_away: dict[str, tuple[int, str]] = {}
        self.buried_there = {row["id"] for row in source.rows(_TABLES["tombstones"])}
        self.fresh_memories: list[str] = []
        self.fresh_proposals: list[str] = []
        self._keys: ClaimKeys | None = None

    def run(self) -> Arrival:
        if self.terms.whole:
            # A restored ledger goes on with its own key, which was the first of those in the backup.
            self._take("claim_keys")
        self._find_gone()
        for table in archive.tables(backup=self.terms.whole):
            if table.name == "events":
                self._take_events()
            elif table.name == "runs":
                self._take_runs()
            elif table.name != "claim_keys" or not self.terms.whole:
                self._take(table.name)
        for id in self.fresh_memories:
            memory = memories.get(self.tx, id)
            assert memory is not None
            memories.rederive(self.tx, memory)
        for id in self.fresh_proposals:
            proposal = inbox.get(self.tx, id)
            assert proposal is not None
            inbox.rederive(self.tx, proposal)
        return self.arrival

    @property
    def keys(self) -> ClaimKeys:
        """This ledger's own keys; made now if nobody wrote here before."""
        if self._keys is None:
            self._keys = claims.ensure(
                self.tx, new_id=self.terms.new_id, secret=self.terms.secret, at=self.terms.now
            )
        return self._keys

    # --- what was erased here ----------------------------------------------------------------------------

    def _find_gone(self) -> None:
        """Whatever of the archive was erased here: by id, and by what it says."""
        here = erasure.known(self.tx)
        there = {known.ref for known in here}
        lost = [note for note in self.terms.noted if note.ref not in there and not self._lifted(note.ref)]
        if not here and not lost:
            return
        buried = {claim for known in (*here, *lost) for claim in known.claims}
        secrets = claims.keys(self.tx)
        pairs = dict(secrets.keys if secrets is not None else ())
        pairs |= {row["id"]: bytes.fromhex(row["secret"]) for row in self.source.rows(_TABLES["claim_keys"])}
        every = ClaimKeys(tuple(pairs.items()))

        def says(title: str, content: str) -> bool:
            return not buried.isdisjoint(every.all_claims(title, content))

        refs = there | {note.ref for note in lost}
        slugs: set[str] = set()
        for row in self.source.rows(_TABLES["memories"]):
            if row["id"] in refs or says(row["title"], row["content"]):
                refs.add(row["id"])
        for row in self.source.rows(_TABLES["proposals"]):
            if row["id"] in refs or row["memory_id"] in refs or says(row["title"], row["content"]):
                refs.add(row["id"])
                slugs |= {row["slug"], row["requested_slug"]}
        for row in self.source.rows(_TABLES["revisions"]):
            if row["memory_id"] in refs:
                slugs.add(load(row["state"])["slug"])
        self._lay_again(lost)
        for name, columns in (("verdicts", ("memory_id", "proposal_id")), ("tombstones", ("ref",))):
            rows = self.source.rows(_TABLES[name])
            refs |= {row["id"] for row in rows if any(row[column] in refs for column in columns)}
        slugs = {slug for slug in slugs if not slug.startswith("erased-")}
        self.gone = Gone(frozenset(refs), frozenset(slugs), None, says)

    def _lifted(self, ref: str) -> bool:
        row = self.tx.one("SELECT id FROM tombstones WHERE ref = :ref AND cause = 'erased' LIMIT 1", ref=ref)
        return row is not None

    def _lay_again(self, lost: Iterable[Erasure]) -> None:
        """Tombstones that only the list beside the database remembers."""
        # claim_keys come later in the order of tables; one that is missing here and there cannot be asked.
        present = {row["id"] for row in self.tx.all("SELECT id FROM claim_keys")}
        coming = {row["id"] for row in self.source.rows(_TABLES["claim_keys"])}
        known = {row["id"] for row in self.source.rows(_TABLES["projects"])}
        known |= {row["id"] for row in self.tx.all("SELECT id FROM projects")}
        for note in lost:
            if note.key in present | coming and note.project in known:
                self._later_tombstones = [*getattr(self, "_later_tombstones", []), note]
