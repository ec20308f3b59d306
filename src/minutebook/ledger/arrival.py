"""An archive coming into a ledger: everything or nothing, and twice is the same as once.

What is here already stands. A row of the same id and other content is a conflict, told and never overwritten;
an active memory whose name is taken, or whose claim was buried here, is put away; words that were erased here
are not stored at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
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
    arrival = _Reception(tx, source, terms).run()
    tx.forget()  # actors, projects and keys may have come in
    return arrival


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
        self.lost: list[Erasure] = []
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
        erasure.lay_again(self.tx, self.lost, new_id=self.terms.new_id, seq=self.seqs[-1])
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

    # --- what was erased here -------------------------------------------------------------------------

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
        self.lost = lost
        for name, columns in (("verdicts", ("memory_id", "proposal_id")), ("tombstones", ("ref",))):
            rows = self.source.rows(_TABLES[name])
            refs |= {row["id"] for row in rows if any(row[column] in refs for column in columns)}
        slugs = {slug for slug in slugs if not slug.startswith("erased-")}
        self.gone = Gone(frozenset(refs), frozenset(slugs), None, says)

    def _lifted(self, ref: str) -> bool:
        row = self.tx.one("SELECT id FROM tombstones WHERE ref = :ref AND cause = 'erased' LIMIT 1", ref=ref)
        return row is not None

    # --- tables ---------------------------------------------------------------------------------------

    def _take(self, name: str) -> None:
        table = _TABLES[name]
        for row in self.source.rows(table):
            self._take_row(table, row)

    def _take_row(self, table: Table, told: Row) -> None:
        row = self._fitted(table, told)
        found = None if self.fresh and table.name != "projects" else self._here(table, row)
        if found is None:
            self._add(table, row)
            return
        if self._erased(table, told):
            self.arrival.known += 1
            return
        if table.name == "memories":
            self._as_put_away(row, found)
        own = _OWN_WORDING.get(table.name, set()) | set(table.seqs)
        differs = tuple(
            sorted(name for name, value in row.items() if name not in own and found[name] != value)
        )
        if not differs:
            self.arrival.known += 1
            if table.name == "actors" and found["role"] != row["role"]:
                self._aside("actors", row["id"], found["role"], f"{row['id']} has that role here already")
            return
        self.arrival.conflicts.append(Clash(table.name, _id(table, row), differs))
        if table.name == "memories":
            self.clashed.add(row["id"])

    def _here(self, table: Table, row: Row) -> Row | None:
        clause = " AND ".join(f"{name} = :{name}" for name in table.key)
        return self.tx.one(
            f"SELECT * FROM {table.name} WHERE {clause}", **{name: row[name] for name in table.key}
        )

    def _fitted(self, table: Table, told: Row) -> Row:
        """A row as this ledger would hold it: without erased words, in its own numbers."""
        row = erasure.without_words(table.name, told, self.gone) if self.gone else dict(told)
        for column in table.seqs:
            place = row[column]
            if place is not None:
                row[column] = self.seqs[min(place, len(self.seqs) - 1)]
        if table.name == "revisions":
            revision, status = self.put_away.get(row["memory_id"], (0, ""))
            if revision == row["revision"]:
                row["state"] = dump({**load(row["state"]), "status": status})
        return row

    def _erased(self, table: Table, told: Row) -> bool:
        """Whether a row is of something erased: then what is here is what is left of it."""
        columns = {"revisions": "memory_id", "tombstones": "ref"}
        if told.get(columns.get(table.name, "id")) in self.gone.refs:
            return True
        return bool(self.gone) and erasure.without_words(table.name, told, self.gone) != told

    def _add(self, table: Table, row: Row) -> None:
        name = table.name
        if name == "requests" and erasure.answers_about(row["answer"], self.gone):
            return
        if name in ("revisions", "verdicts") and row["memory_id"] in self.clashed:
            return  # the history of another course that the memory took elsewhere
        if name == "memory_links" and not self.clashed.isdisjoint((row["from_id"], row["to_id"])):
            return
        if not self.fresh:
            if name in _NAMED:
                self._rename(table, row)
            settle = {"memories": self._settle_memory, "sessions": self._settle_session}.get(name)
            if settle is not None and not settle(row):
                return
        if name in ("memories", "proposals"):
            gone = row["id"] in self.gone.refs or row["slug"] == erasure.name_of(row["id"])
            row["claim"] = "" if gone else self.keys.claim(row["title"], row["content"])
            (self.fresh_memories if name == "memories" else self.fresh_proposals).append(row["id"])
            if name == "memories" and row["status"] == "erased":
                self.put_away[row["id"]] = (row["revision"], "erased")
            if row["id"] in self.gone.refs:
                self._aside(name, row["id"], "erased", "its words were erased here")
        elif name == "claim_keys":
            row["position"] = self._next_position()
        self._insert(name, row)

    def _next_position(self) -> int:
        if not self.terms.whole:
            assert self.keys  # the ledger's own key is the first, also where it is made only now
        row = self.tx.one("SELECT COALESCE(max(position), -1) + 1 AS next FROM claim_keys")
        assert row is not None
        return row["next"]

    def _insert(self, name: str, row: Row) -> None:
        columns = sorted(row)
        self.tx.run(
            f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join(':' + each for each in columns)})",
            **row,
        )
        self.arrival.rows[name] = self.arrival.rows.get(name, 0) + 1

    def _aside(self, table: str, id: str, became: str, because: str) -> None:
        self.arrival.asides.append(Aside(table, id, became, because))

    # --- what must give way to what is here -----------------------------------------------------------

    def _rename(self, table: Table, row: Row) -> None:
        within, column = _NAMED[table.name]
        clause = "".join(f" AND {name} = :{name}" for name in within)
        params = {name: row[name] for name in within}
        rows = self.tx.all(
            f"SELECT {column} AS name FROM {table.name} WHERE {column} >= :name AND {column} < :end{clause}",
            name=row[column],
            end=row[column] + "~",
            **params,
        )
        name = numbered(row[column], {taken["name"] for taken in rows})
        if name != row[column]:
            self._aside(table.name, row["id"], name, f"the name {row[column]!r} is taken here")
            row[column] = name

    def _settle_memory(self, row: Row) -> bool:
        """Decide what an active memory becomes here; False leaves it out."""
        if row["proposal_id"] is not None and row["status"] in ("active", "superseded", "archived"):
            rival = self.tx.one(
                """SELECT id FROM memories WHERE proposal_id = :proposal
                      AND status IN ('active', 'superseded', 'archived')""",
                proposal=row["proposal_id"],
            )
            if rival is not None:
                self.arrival.conflicts.append(Clash("memories", row["id"], ("proposal_id",)))
                self.clashed.add(row["id"])
                return False
        if row["status"] != "active":
            return True
        taken = self.tx.one(
            f"""SELECT id FROM memories WHERE status = 'active'
                  AND {" AND ".join(f"{name} = :{name}" for name in _IDENTITY)}""",
            **{name: row[name] for name in _IDENTITY},
        )
        cause = self._buried_here(row)
        if taken is not None:
            self._put_away(row, "archived", f"{row['slug']!r} stands here already")
        elif cause is not None:
            self._put_away(row, "retired", f"its claim was {cause} here")
        return True

    def _buried_here(self, row: Row) -> str | None:
        """Why the claim of a memory was buried here, by this ledger's own act."""
        for claim in self.keys.all_claims(row["title"], row["content"]):
            for tombstone in self.tx.all(
                """SELECT id, cause FROM tombstones WHERE claim = :claim AND lifted_at IS NULL
                      AND project_id IN (:project, 'global') AND agent IN ('', :agent)""",
                claim=claim,
                project=row["project_id"],
                agent=row["author"],
            ):
                if tombstone["id"] not in self.buried_there:
                    return tombstone["cause"]
        return None

    def _put_away(self, row: Row, status: str, because: str) -> None:
        row["status"] = status
        self.put_away[row["id"]] = (row["revision"], status)
        self._aside("memories", row["id"], status, because)

    def _as_put_away(self, row: Row, found: Row) -> None:
        """Take a memory that was put away when it came in before for what it became then."""
        if row["status"] != "active" or found["status"] not in ("archived", "retired"):
            return
        revision = self.tx.one(
            "SELECT state FROM revisions WHERE memory_id = :id AND revision = :revision",
            id=row["id"],
            revision=row["revision"],
        )
        # Whoever puts a memory away later makes a further revision; only an import words the last one anew.
        if revision is not None and load(revision["state"])["status"] == found["status"]:
            row["status"] = found["status"]
            self.put_away[row["id"]] = (row["revision"], found["status"])

    def _settle_session(self, row: Row) -> bool:
        if row["ended_at"] is None and self.tx.one(
            "SELECT id FROM sessions WHERE project_id = :project AND ended_at IS NULL",
            project=row["project_id"],
        ):
            row |= {"ended_at": row["updated_at"], "ended_by": self.terms.actor}
            self._aside("sessions", row["id"], "closed", "another session is open here")
        return True

    # --- events and runs ------------------------------------------------------------------------------

    def _take_events(self) -> None:
        table = _TABLES["events"]
        places: list[int | None] = []
        here: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
        asked: set[str] = set()
        for told in self.source.rows(table):
            row = erasure.without_words("events", told, self.gone) if self.gone else told
            if not self.fresh and row["subject"] not in asked:
                asked.add(row["subject"])
                for known in self.tx.all(
                    "SELECT * FROM events WHERE subject = :subject ORDER BY seq DESC", subject=row["subject"]
                ):
                    here[_said(known)].append(known["seq"])
            # Each event here answers for one of the archive: two may say the same.
            numbers_here = here.get(_said(row))
            places.append(numbers_here.pop() if numbers_here else None)
        missing = sum(place is None for place in places)
        numbers = iter(self.tx.all(self.tx.dialect.next_seqs, n=missing) if missing else ())
        self.arrival.known += len(places) - missing
        self.seqs += [next(numbers)["seq"] if place is None else place for place in places]
        for place, row in zip(places, self.source.rows(table), strict=True):
            if place is None:
                self._insert("events", self._fitted(table, row))

    def _take_runs(self) -> None:
        """Runs refer to runs: first all of them, then whose child each one is."""
        table = _TABLES["runs"]
        parents: list[tuple[str, str]] = []
        for row in self.source.rows(table):
            if not self.fresh and self._here(table, row) is not None:
                self._take_row(table, row)
                continue
            if row["parent_run_id"] is not None:
                parents.append((row["id"], row["parent_run_id"]))
            self._add(table, self._fitted(table, {**row, "parent_run_id": None}))
        for id, parent in parents:
            self.tx.run("UPDATE runs SET parent_run_id = :parent WHERE id = :id", id=id, parent=parent)


def _id(table: Table, row: Row) -> str:
    return " ".join(str(row[name]) for name in table.key)


def _said(event: Row) -> tuple[Any, ...]:
    """All of an event but its number."""
    return tuple(event[name] for name in sorted(event) if name != "seq")
