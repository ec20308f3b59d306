-- What the engine keeps beside the ledger.

-- How far each follower of the log has come, for each part of its work that has a place of its own.
CREATE TABLE positions (
    follower ${text} NOT NULL,
    part     ${text} NOT NULL,
    seq      ${int} NOT NULL,
    at       ${text} NOT NULL,
    PRIMARY KEY (follower, part)
);

-- Jobs: what a worker needs besides. `again_at` says that it was asked for once more while it was being done.
ALTER TABLE jobs ADD COLUMN started_at ${text};
ALTER TABLE jobs ADD COLUMN again_at ${text};
-- how often its worker ended in the middle of it, which is no failure of its own
ALTER TABLE jobs ADD COLUMN interruptions ${int} NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN outcome ${text};
-- In the order in which they are taken: by priority, then each project in its turn.
CREATE INDEX jobs_waiting ON jobs (priority, project_id, due_at, id) WHERE state = 'todo';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'doing';
CREATE INDEX jobs_of_project ON jobs (project_id, id);

-- What an ingestion event says besides: who brought it, how far it has come, and the job that does it.
ALTER TABLE ingestion_events ADD COLUMN requested_by ${text} NOT NULL DEFAULT '';
ALTER TABLE ingestion_events ADD COLUMN requested_role ${text} NOT NULL DEFAULT '';
ALTER TABLE ingestion_events ADD COLUMN origin ${text} NOT NULL DEFAULT '';
ALTER TABLE ingestion_events ADD COLUMN run_id ${text};
ALTER TABLE ingestion_events ADD COLUMN job_id ${text};
-- findings that are dealt with, of how many
ALTER TABLE ingestion_events ADD COLUMN done ${int} NOT NULL DEFAULT 0;
ALTER TABLE ingestion_events ADD COLUMN total ${int};
CREATE INDEX ingestion_of_project ON ingestion_events (project_id, id);
CREATE INDEX ingestion_unfinished ON ingestion_events (state) WHERE finished_at IS NULL;
-- Words that were let go because they were old, and may come again; what was erased may not.
ALTER TABLE sources ADD COLUMN pruned_at ${text};
CREATE INDEX sources_by_run ON sources (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX sources_of_project ON sources (project_id, id);
CREATE INDEX proposals_by_source ON proposals (source_id) WHERE source_id IS NOT NULL;
CREATE INDEX memories_by_source ON memories (source_id) WHERE source_id IS NOT NULL;
-- What was proposed once, in whatever state it is: for what comes out of a source a second time.
CREATE INDEX proposals_of_claim ON proposals (claim, project_id, type);
CREATE INDEX events_of_run ON events (run_id, seq) WHERE run_id IS NOT NULL;
