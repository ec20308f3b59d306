-- Consolidations: each looks through one project and leaves a batch of suggestions. No row here holds words that
-- somebody wrote: a suggestion names memories and revisions, and what it says is made of these when it is shown.
CREATE TABLE consolidations (
    id          ${text} PRIMARY KEY,
    project_id  ${text} NOT NULL REFERENCES projects (id),
    state       ${text} NOT NULL CHECK (state IN ('running', 'done', 'failed', 'abandoned')),
    -- who or what began it: somebody who asked, or the gates
    cause       ${text} NOT NULL CHECK (cause IN ('asked', 'gates')),
    started_by  ${text} NOT NULL,
    started_at  ${text} NOT NULL,
    finished_at ${text},
    -- which process does it, and until when it is believed to
    worker      ${text} NOT NULL,
    lease_until ${text} NOT NULL,
    -- how far the log had come when it began, and how many memories it looked at
    seq         ${int} NOT NULL,
    looked      ${int} NOT NULL,
    -- suggestions by their kind, and how many more there would have been
    counts      ${text} NOT NULL,
    beyond      ${int} NOT NULL,
    error       ${text}
);
CREATE INDEX consolidations_of_project ON consolidations (project_id, id);
-- The lock: one at a time in a project, whoever races.
CREATE UNIQUE INDEX consolidations_running ON consolidations (project_id) WHERE state = 'running';

CREATE TABLE suggestions (
    id               ${text} PRIMARY KEY,
    project_id       ${text} NOT NULL REFERENCES projects (id),
    consolidation_id ${text} NOT NULL REFERENCES consolidations (id),
    kind             ${text} NOT NULL,
    act              ${text} NOT NULL,
    -- what it is about, as [id, revision] pairs; the first is what stays
    refs             ${text} NOT NULL,
    rule             ${text} NOT NULL,
    score            ${real},
    -- the same thing said again is the same suggestion, and one that was left stays left
    key              ${text} NOT NULL,
    state            ${text} NOT NULL CHECK (state IN ('open', 'taken', 'left', 'gone')),
    created_at       ${text} NOT NULL,
    decided_by       ${text},
    decided_at       ${text},
    verdict_id       ${text},
    UNIQUE (project_id, key)
);
CREATE INDEX suggestions_of_batch ON suggestions (consolidation_id, id);
CREATE INDEX suggestions_open ON suggestions (project_id, id) WHERE state = 'open';
