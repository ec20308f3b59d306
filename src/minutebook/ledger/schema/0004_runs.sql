-- Runs: who started and ended them, what each was told, and what the scribe reported.
-- `snapshot` and `snapshot_seq` of a run are the hash and the place in the log of its present snapshot.
ALTER TABLE runs ADD COLUMN generation ${int} NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN started_by ${text} NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN finished_by ${text};
ALTER TABLE runs ADD COLUMN report ${text};
CREATE INDEX runs_open ON runs (project_id, agent, id) WHERE status = 'open';
CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

-- What a run was told, frozen. A further generation only by an explicit reload; the earlier ones stay.
CREATE TABLE snapshots (
    run_id         ${text} NOT NULL REFERENCES runs (id),
    generation     ${int} NOT NULL,
    seq            ${int} NOT NULL,
    hash           ${text} NOT NULL,
    -- the run whose boundaries it repeats, and which generation of them
    inherited_from ${text},
    inherited      ${int},
    -- NULL where there was nothing to say
    bundle         ${text},
    at             ${text} NOT NULL,
    PRIMARY KEY (run_id, generation)
);

-- Which run was shown which revision of a memory.
CREATE TABLE sightings (
    memory_id  ${text} NOT NULL,
    run_id     ${text} NOT NULL REFERENCES runs (id),
    generation ${int} NOT NULL,
    revision   ${int} NOT NULL,
    layer      ${text} NOT NULL,
    PRIMARY KEY (memory_id, run_id, generation)
)${clustered};

-- What rests on something that can be looked at again.
CREATE INDEX memories_with_evidence ON memories (project_id, id) WHERE status = 'active' AND evidence <> '[]';
