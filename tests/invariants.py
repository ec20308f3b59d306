"""What is true of every ledger at every moment: read the tables whole, and look."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from minutebook.ledger.database import Database, Tx
from minutebook.wiring import SCHEMA

Row = dict[str, Any]
State = dict[str, list[Row]]

#: Columns that a database numbers by itself, or derives.
_OWN = frozenset({"doc", "held", "words"})
_SEQ = re.compile(r'("(?:snapshot_)?seq": ?)(\d+)')


def tables() -> list[str]:
    """Every table of the shared schema."""
    text = "\n".join(path.read_text("utf-8") for path in sorted(SCHEMA.glob("[0-9]*.sql")))
    return sorted({*re.findall(r"CREATE TABLE (\w+)", text), "migrations"})


def state_of(database: Database) -> State:
    """All rows of all tables, in an order of their own; equal for two ledgers that hold the same."""
    with database.read() as tx:
        return read_state(tx)


def read_state(tx: Tx) -> State:
    # PostgreSQL leaves holes in the event numbers where a write was undone: places count, not numbers.
    numbers = [row["seq"] for row in tx.all("SELECT seq FROM events ORDER BY seq")]
    place = {number: index for index, number in enumerate(numbers, start=1)} | {0: 0}
    state: State = {}
    for table in tables():
        rows = [_plain(row, place) for row in tx.all(f"SELECT * FROM {table}")]
        state[table] = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    return state


def _plain(row: Row, place: dict[int, int]) -> Row:
    plain: Row = {}
    for column, value in row.items():
        if column in _OWN:
            continue
        if column.endswith("seq") and value is not None:
            value = place[value]
        elif column in ("answer", "bundle") and value is not None:
            value = _SEQ.sub(lambda found: f"{found[1]}{place[int(found[2])]}", value)
        elif column in ("applied_at", "checksum"):
            value = ""  # when and with which engine's file the tables were made is no part of what they hold
        plain[column] = value
    return plain


def difference(one: State, other: State) -> list[str]:
    """What only one of two states holds, for a message."""
    found: list[str] = []
    for table in one.keys() | other.keys():
        mine = Counter(json.dumps(row, sort_keys=True) for row in one.get(table, []))
        theirs = Counter(json.dumps(row, sort_keys=True) for row in other.get(table, []))
        found += [f"- {table}: {row}" for row in (mine - theirs).elements()]
        found += [f"+ {table}: {row}" for row in (theirs - mine).elements()]
    return sorted(found)


def violations(state: State) -> list[str]:
    """Everything that must be true and is not."""
    return [
        *_promotions(state),
        *_standing(state),
        *_histories(state),
        *_verdicts(state),
        *_derived(state),
        *_runs(state),
        *_pipeline(state),
    ]


def _by_id(state: State, table: str) -> dict[str, Row]:
    return {row["id"]: row for row in state[table]}


def _effects(verdict: Row) -> list[tuple[str, str, str, str]]:
    return [tuple(effect) for effect in json.loads(verdict["effects"])]


def _promotions(state: State) -> list[str]:
    """Merged and a memory go together, both ways."""
    memories, proposals = _by_id(state, "memories"), _by_id(state, "proposals")
    found = []
    for proposal in proposals.values():
        merged = proposal["status"] == "merged"
        if merged and proposal["memory_id"] not in memories:
            found.append(f"proposal {proposal['slug']} is merged and has no memory")
        if not merged and proposal["memory_id"] is not None:
            found.append(f"proposal {proposal['slug']} is {proposal['status']} and has a memory")
        if (proposal["status"] == "pending") != (proposal["decided_at"] is None):
            found.append(
                f"proposal {proposal['slug']} is {proposal['status']}, decided {proposal['decided_at']}"
            )
    for memory in memories.values():
        if memory["status"] == "active" and memory["proposal_id"] is not None:
            proposal = proposals.get(memory["proposal_id"])
            if proposal is None or (proposal["status"], proposal["memory_id"]) != ("merged", memory["id"]):
                found.append(f"memory {memory['slug']} stands on a proposal that is not merged into it")
    return found


def _standing(state: State) -> list[str]:
    """One of a name, one open session, and supersession that points somewhere."""
    identity = ("project_id", "scope", "tier", "agent", "repo_id", "session_id", "type", "slug")
    active = [row for row in state["memories"] if row["status"] == "active"]
    named = Counter(tuple(row[column] for column in identity) for row in active)
    found = [f"{count} active memories of {name}" for name, count in named.items() if count > 1]
    opened = Counter(row["project_id"] for row in state["sessions"] if row["ended_at"] is None)
    found += [f"{count} open sessions of {project}" for project, count in opened.items() if count > 1]
    memories = _by_id(state, "memories")
    for memory in memories.values():
        successor = memory["superseded_by"]
        if memory["status"] == "superseded" and successor not in memories:
            found.append(f"memory {memory['slug']} was superseded by nothing")
        if memory["status"] in ("active", "retired") and successor is not None:
            found.append(f"memory {memory['slug']} is {memory['status']} and has a successor")
    return found


def _histories(state: State) -> list[str]:
    """Revisions without a gap, each with the verdict that made it."""
    verdicts = _by_id(state, "verdicts")
    kept: dict[str, list[Row]] = {}
    for row in state["revisions"]:
        kept.setdefault(row["memory_id"], []).append(row)
    found = []
    for memory in state["memories"]:
        rows = sorted(kept.get(memory["id"], []), key=lambda row: row["revision"])
        if [row["revision"] for row in rows] != list(range(1, memory["revision"] + 1)):
            found.append(f"memory {memory['slug']} at {memory['revision']} has another history")
            continue
        last = json.loads(rows[-1]["state"])
        if (last["status"], last["title"], last["content"], rows[-1]["seq"]) != (
            memory["status"], memory["title"], memory["content"], memory["seq"],
        ):  # fmt: skip
            found.append(f"memory {memory['slug']} is not what its last revision says")
        for row in rows:
            verdict = verdicts.get(row["verdict_id"])
            if verdict is None or verdict["seq"] != row["seq"]:
                found.append(f"revision {row['revision']} of {memory['slug']} has no verdict")
            elif memory["status"] != "erased" and not any(
                (kind, ref, after) == ("memory", memory["id"], str(row["revision"]))
                for kind, ref, _, after in _effects(verdict)
            ):
                found.append(f"revision {row['revision']} of {memory['slug']} is no effect of its verdict")
    return found


def _verdicts(state: State) -> list[str]:
    """A verdict has its event, and its effects happened; a revert and what it undid know each other."""
    events = {row["seq"]: row for row in state["events"]}
    verdicts = _by_id(state, "verdicts")
    revisions = {(row["memory_id"], str(row["revision"])): row["verdict_id"] for row in state["revisions"]}
    proposals, tombstones = _by_id(state, "proposals"), _by_id(state, "tombstones")
    found = []
    if len(events) != len(state["events"]):
        found.append("two events have one number")
    for verdict in verdicts.values():
        event = events.get(verdict["seq"])
        if event is None or event["verdict_id"] != verdict["id"]:
            found.append(f"verdict {verdict['id']} ({verdict['op']}) has no event")
        for kind, ref, _, after in _effects(verdict):
            if kind == "memory" and revisions.get((ref, after)) != verdict["id"]:
                found.append(f"verdict {verdict['id']} says revision {after} of {ref}, which it did not make")
            if kind == "proposal" and ref not in proposals:
                found.append(f"verdict {verdict['id']} is about a proposal that is not there")
            if kind == "tombstone" and ref not in tombstones:
                found.append(f"verdict {verdict['id']} is about a tombstone that is not there")
        undone_by = verdict["reverted_by"]
        if undone_by is not None and verdicts[undone_by]["reverts"] != verdict["id"]:
            found.append(f"verdict {verdict['id']} was reverted by one that does not say so")
    for event in events.values():
        if event["verdict_id"] is not None and event["verdict_id"] not in verdicts:
            found.append(f"event {event['seq']} ({event['kind']}) has no verdict")
    return found


def _derived(state: State) -> list[str]:
    """Text and tags for everything that has words, and for nothing else."""
    words = {row["id"] for row in state["memories"] if row["status"] != "erased"}
    words |= {row["id"] for row in state["proposals"] if row["content"] != "[erased]"}
    texts = {row["ref"] for row in state["texts"]}
    found = [f"{ref} has no text row" for ref in words - texts]
    found += [f"a text row of {ref} is left over" for ref in texts - words]
    borne = {(row["id"], tag) for row in state["memories"] for tag in json.loads(row["tags"])}
    tagged = {(row["ref"], row["tag"]) for row in state["tags"]}
    found += [f"tag {tag} of {ref} is not a row, or a row of nothing" for ref, tag in borne ^ tagged]
    standing = {row["id"] for row in state["memories"] if row["status"] == "active"}
    standing |= {row["id"] for row in state["proposals"] if row["status"] == "pending"}
    found += [
        f"a sketch of {row['ref']} is left over" for row in state["bands"] if row["ref"] not in standing
    ]
    return found


def _runs(state: State) -> list[str]:
    """A run that ended has an end and a report; one that is open has neither. Its snapshots are without a gap."""
    snapshots: dict[str, list[Row]] = {}
    for row in state["snapshots"]:
        snapshots.setdefault(row["run_id"], []).append(row)
    shown: dict[tuple[str, int], dict[str, int]] = {}
    for row in state["sightings"]:
        shown.setdefault((row["run_id"], row["generation"]), {})[row["memory_id"]] = row["revision"]
    found = []
    for run in state["runs"]:
        name = f"run {run['id']} of {run['agent']}"
        ended = {run["finished_at"] is not None, run["outcome"] is not None, run["report"] is not None}
        if run["started_by"] and ended != {run["status"] != "open"}:
            found.append(f"{name} is {run['status']}, and its end says otherwise")
        rows = sorted(snapshots.get(run["id"], []), key=lambda row: row["generation"])
        if [row["generation"] for row in rows] != list(range(1, run["generation"] + 1)):
            found.append(f"{name} has other generations than {run['generation']}")
        if rows and (rows[-1]["hash"], rows[-1]["seq"]) != (run["snapshot"], run["snapshot_seq"]):
            found.append(f"{name} names another snapshot than its last")
        for row in rows:
            items = [] if row["bundle"] is None else json.loads(row["bundle"])["items"]
            told = {item["id"]: item["revision"] for item in items}
            if told != shown.pop((run["id"], row["generation"]), {}):
                found.append(f"{name} was told other things than its sightings say")
    return [*found, *(f"sightings of {run} belong to no snapshot" for run in shown)]


def _pipeline(state: State) -> list[str]:
    """A job that is being done has a worker and a lease; a capture stands where its job does."""
    jobs, sources = _by_id(state, "jobs"), _by_id(state, "sources")
    found = []
    for job in jobs.values():
        held = {job["worker"] is not None, job["lease_until"] is not None}
        if held != {job["state"] == "doing"}:
            found.append(f"job {job['id']} is {job['state']}, and its lease says otherwise")
    for capture in state["ingestion_events"]:
        name = f"capture {capture['id']}"
        if capture["source_id"] is not None and capture["source_id"] not in sources:
            found.append(f"{name} has no source")
        if (capture["finished_at"] is None) != (capture["state"] in ("queued", "working")):
            found.append(f"{name} is {capture['state']}, and its end says otherwise")
        job = jobs.get(capture["job_id"])
        if job is not None and job["state"] == "done" and capture["state"] in ("queued", "working"):
            found.append(f"{name} waits for a job that is done")
        if capture["total"] is not None and capture["done"] > capture["total"]:
            found.append(f"{name} has come further than there is to do")
    for source in sources.values():
        if source["erased_at"] is not None and source["content"] is not None:
            found.append(f"source {source['id']} was erased and has words")
    return found
