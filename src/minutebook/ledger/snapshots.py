"""Snapshots: what runs were told, byte for byte, and which of them were shown a memory."""

from __future__ import annotations

import dataclasses

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.context import (
    Bundle,
    EvidenceState,
    Form,
    Item,
    Layer,
    LayerFault,
    LeftOut,
    Reason,
)
from minutebook.model.runs import RunStatus, Sighting, Snapshot


def insert(tx: Tx, snapshot: Snapshot) -> None:
    """Keep what a run is told from now on."""
    bundle = snapshot.bundle
    given = "" if bundle is None else bundle.hash
    tx.forget()
    tx.run(
        """INSERT INTO snapshots (run_id, generation, seq, hash, inherited_from, inherited, bundle, at)
           VALUES (:run, :generation, :seq, :hash, :inherited_from, :inherited, :bundle, :at)""",
        run=snapshot.run,
        generation=snapshot.generation,
        seq=snapshot.seq,
        hash=given,
        inherited_from=snapshot.inherited_from,
        inherited=snapshot.inherited,
        bundle=None if bundle is None else dump_bundle(bundle),
        at=snapshot.at,
    )
    tx.run(
        "UPDATE runs SET generation = :generation, snapshot = :hash, snapshot_seq = :seq WHERE id = :run",
        run=snapshot.run,
        generation=snapshot.generation,
        hash=given,
        seq=snapshot.seq,
    )
    for item in () if bundle is None else bundle.items:
        tx.run(
            """INSERT INTO sightings (memory_id, run_id, generation, revision, layer)
               VALUES (:memory, :run, :generation, :revision, :layer) ON CONFLICT DO NOTHING""",
            memory=item.id,
            run=snapshot.run,
            generation=snapshot.generation,
            revision=item.revision,
            layer=item.layer.value,
        )


def of_run(tx: Tx, run: str, generation: int | None = None) -> Snapshot | None:
    """A generation of a run's snapshot; the newest if none is named."""
    clause, params = "", {}
    if generation is not None:
        clause, params = " AND generation = :generation", {"generation": generation}
    row = tx.one(
        f"SELECT * FROM snapshots WHERE run_id = :run{clause} ORDER BY generation DESC LIMIT 1",
        run=run,
        **params,
    )
    return None if row is None else _snapshot(row)


def sightings(tx: Tx, memory: str, *, project: str, after: str | None, limit: int) -> list[Sighting]:
    """The runs of a project that were shown a memory, the newest first; `after` is the last run seen.

    Of a run that was shown it more than once, the last time.
    """
    clause, params = "", {}
    if after is not None:
        clause, params = " AND s.run_id < :after", {"after": after}
    rows = tx.all(
        f"""SELECT s.run_id, s.generation, s.revision, s.layer, r.agent, r.status, k.at
              FROM sightings s JOIN runs r ON r.id = s.run_id
              JOIN snapshots k ON k.run_id = s.run_id AND k.generation = s.generation
             WHERE s.memory_id = :memory AND r.project_id = :project{clause}
               AND s.generation = (SELECT max(x.generation) FROM sightings x
                                    WHERE x.memory_id = s.memory_id AND x.run_id = s.run_id)
             ORDER BY s.run_id DESC LIMIT :limit""",
        memory=memory,
        project=project,
        limit=limit,
        **params,
    )
    return [
        Sighting(
            run=row["run_id"],
            agent=row["agent"],
            status=RunStatus(row["status"]),
            generation=row["generation"],
            revision=row["revision"],
            layer=row["layer"],
            at=row["at"],
        )
        for row in rows
    ]


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        run=row["run_id"],
        generation=row["generation"],
        seq=row["seq"],
        at=row["at"],
        bundle=None if row["bundle"] is None else load_bundle(row["bundle"]),
        inherited_from=row["inherited_from"],
        inherited=row["inherited"],
    )


def dump_bundle(bundle: Bundle) -> str:
    return dump(dataclasses.asdict(bundle))


def load_bundle(text: str) -> Bundle:
    kept = load(text)
    return Bundle(
        **{
            **kept,
            "items": tuple(_item(item) for item in kept["items"]),
            "left_out": tuple(
                LeftOut(**{**out, "layer": Layer(out["layer"]), "reason": Reason(out["reason"])})
                for out in kept["left_out"]
            ),
            "faults": tuple(
                LayerFault(**{**fault, "layer": Layer(fault["layer"])}) for fault in kept["faults"]
            ),
        }
    )


def _item(kept: Row) -> Item:
    evidence = kept["evidence"]
    return Item(
        **{
            **kept,
            "layer": Layer(kept["layer"]),
            "form": Form(kept["form"]),
            "evidence": None if evidence is None else EvidenceState(evidence),
        }
    )
