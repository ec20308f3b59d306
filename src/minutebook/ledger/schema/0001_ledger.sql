-- The ledger. Shared by both databases; ${...} is filled in by the dialect.
-- Ids are ULIDs made in Python, times UTC RFC 3339 text, JSON is text that the database never looks into.
-- A scope's unused parts are '' and never NULL, so that unique indexes hold.

CREATE TABLE projects (
    id          ${text} PRIMARY KEY,
    slug        ${text} NOT NULL UNIQUE,
    name        ${text} NOT NULL,
    created_by  ${text} NOT NULL,
    created_at  ${text} NOT NULL,
    archived_at ${text}
);

INSERT INTO projects (id, slug, name, created_by, created_at)
VALUES ('global', 'global', 'Global', 'minutebook', '1970-01-01T00:00:00.000000Z');

CREATE TABLE workspaces (
    project_id    ${text} NOT NULL REFERENCES projects (id),
    host          ${text} NOT NULL,
    path          ${text} NOT NULL,
    first_seen_at ${text} NOT NULL,
    last_seen_at  ${text} NOT NULL,
    PRIMARY KEY (project_id, host, path)
);

CREATE TABLE repos (
    id         ${text} PRIMARY KEY,
    project_id ${text} NOT NULL REFERENCES projects (id),
    slug       ${text} NOT NULL,
    remote     ${text},
    created_at ${text} NOT NULL,
    UNIQUE (project_id, slug)
);

CREATE TABLE actors (
    id         ${text} PRIMARY KEY,
    name       ${text} NOT NULL,
    role       ${text} NOT NULL CHECK (role IN ('viewer', 'agent', 'coordinator', 'operator', 'scribe')),
    project_id ${text} REFERENCES projects (id),
    created_at ${text} NOT NULL,
    retired_at ${text}
);

-- The audit log. Everything that changed is here, in the order of seq; content never is.
CREATE TABLE events (
    seq        ${sequence},
    kind       ${text} NOT NULL,
    subject    ${text} NOT NULL,
    project_id ${text} NOT NULL,
    verdict_id ${text},
    actor      ${text} NOT NULL,
    role       ${text} NOT NULL,
    origin     ${text} NOT NULL,
    run_id     ${text},
    detail     ${text},
    at         ${text} NOT NULL
);
CREATE INDEX events_of_project ON events (project_id, seq);
CREATE INDEX events_of_subject ON events (subject, seq);

CREATE TABLE memories (
    id            ${text} PRIMARY KEY,
    project_id    ${text} NOT NULL REFERENCES projects (id),
    scope         ${text} NOT NULL CHECK (scope IN ('global', 'project', 'repo', 'agent', 'session')),
    tier          ${text} NOT NULL CHECK (tier IN ('', 'project', 'global')),
    agent         ${text} NOT NULL,
    repo_id       ${text} NOT NULL,
    session_id    ${text} NOT NULL,
    type          ${text} NOT NULL CHECK (type IN (
                      'architectural', 'scope', 'process', 'technical', 'core_context', 'learning', 'pattern',
                      'update', 'profile', 'feedback', 'project', 'artifact', 'episode')),
    slug          ${text} NOT NULL,
    title         ${text} NOT NULL,
    content       ${text} NOT NULL,
    summary       ${text},
    rationale     ${text},
    status        ${text} NOT NULL CHECK (status IN ('active', 'superseded', 'archived', 'retired', 'erased')),
    importance    ${text} NOT NULL CHECK (importance IN ('low', 'medium', 'high')),
    confidence    ${real},
    entity        ${text},
    attribute     ${text},
    tags          ${text} NOT NULL,
    evidence      ${text} NOT NULL,
    author        ${text} NOT NULL,
    author_role   ${text} NOT NULL,
    origin        ${text} NOT NULL,
    decided_by    ${text} NOT NULL,
    decided_role  ${text} NOT NULL,
    proposal_id   ${text},
    source_id     ${text},
    run_id        ${text},
    superseded_by ${text} REFERENCES memories (id) DEFERRABLE INITIALLY DEFERRED,
    observed_at   ${text},
    verified_at   ${text},
    created_at    ${text} NOT NULL,
    updated_at    ${text} NOT NULL,
    revision      ${int} NOT NULL,
    created_seq   ${int} NOT NULL,
    seq           ${int} NOT NULL,
    claim         ${text} NOT NULL
);
-- One active memory of an identity: what makes a repeated write an update. The slug stands early, so that
-- the same index finds a memory by its name.
CREATE UNIQUE INDEX memories_identity
    ON memories (project_id, slug, type, scope, tier, agent, repo_id, session_id) WHERE status = 'active';
-- One standing memory per proposal: what makes a double promotion impossible, whoever races.
CREATE UNIQUE INDEX memories_of_proposal
    ON memories (proposal_id) WHERE proposal_id IS NOT NULL AND status IN ('active', 'superseded', 'archived');
-- Whole, so that a planner without statistics does not take the identity's index and walk a whole scope.
CREATE INDEX memories_by_claim
    ON memories (claim, project_id, scope, tier, agent, repo_id, session_id) WHERE status = 'active';
CREATE INDEX memories_by_slot
    ON memories (entity, attribute, project_id, scope, tier, agent, repo_id, session_id)
    WHERE entity IS NOT NULL AND status = 'active';
CREATE INDEX memories_by_status ON memories (project_id, status, type, id);
CREATE INDEX memories_by_run ON memories (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

-- A memory as each write left it: history, diff, revert and time travel read these.
CREATE TABLE revisions (
    memory_id  ${text} NOT NULL REFERENCES memories (id),
    revision   ${int} NOT NULL,
    seq        ${int} NOT NULL,
    verdict_id ${text} NOT NULL,
    state      ${text} NOT NULL,
    PRIMARY KEY (memory_id, revision)
)${clustered};
CREATE INDEX revisions_by_seq ON revisions (seq);

CREATE TABLE memory_links (
    from_id    ${text} NOT NULL REFERENCES memories (id),
    relation   ${text} NOT NULL CHECK (relation IN (
                   'supports', 'contradicts', 'supersedes', 'applies_to', 'derived_from', 'related_to')),
    to_id      ${text} NOT NULL REFERENCES memories (id),
    created_by ${text} NOT NULL,
    created_at ${text} NOT NULL,
    seq        ${int} NOT NULL,
    PRIMARY KEY (from_id, relation, to_id)
);
CREATE INDEX memory_links_back ON memory_links (to_id, relation);

-- Tags as rows, folded, so that a filter matches whole tags; the row that bears them lists them too.
CREATE TABLE tags (
    ref ${text} NOT NULL,
    tag ${text} NOT NULL,
    PRIMARY KEY (ref, tag)
)${clustered};
CREATE INDEX tags_by_tag ON tags (tag, ref);

-- The inbox. Kept for ever; slugs are unique per project.
CREATE TABLE proposals (
    id             ${text} PRIMARY KEY,
    project_id     ${text} NOT NULL REFERENCES projects (id),
    slug           ${text} NOT NULL,
    requested_slug ${text} NOT NULL,
    agent          ${text} NOT NULL,
    author_role    ${text} NOT NULL,
    origin         ${text} NOT NULL,
    scope_project  ${text} NOT NULL,
    scope          ${text} NOT NULL CHECK (scope IN ('global', 'project', 'repo', 'agent', 'session')),
    tier           ${text} NOT NULL CHECK (tier IN ('', 'project', 'global')),
    scope_agent    ${text} NOT NULL,
    repo_id        ${text} NOT NULL,
    session_id     ${text} NOT NULL,
    type           ${text} NOT NULL,
    title          ${text} NOT NULL,
    content        ${text} NOT NULL,
    rationale      ${text},
    status         ${text} NOT NULL CHECK (status IN ('pending', 'merged', 'rejected')),
    risk           ${text} NOT NULL CHECK (risk IN ('low', 'medium', 'high')),
    would          ${text} NOT NULL,
    importance     ${text} NOT NULL CHECK (importance IN ('low', 'medium', 'high')),
    confidence     ${real},
    entity         ${text},
    attribute      ${text},
    tags           ${text} NOT NULL,
    evidence       ${text} NOT NULL,
    observed_at    ${text},
    source_id      ${text},
    run_id         ${text},
    base_id        ${text},
    base_revision  ${int},
    memory_id      ${text} REFERENCES memories (id) DEFERRABLE INITIALLY DEFERRED,
    decided_at     ${text},
    reviewer       ${text},
    reviewer_role  ${text},
    reason         ${text},
    edits          ${text},
    created_at     ${text} NOT NULL,
    updated_at     ${text} NOT NULL,
    revision       ${int} NOT NULL,
    seq            ${int} NOT NULL,
    claim          ${text} NOT NULL,
    UNIQUE (project_id, slug),
    CHECK (status <> 'merged' OR memory_id IS NOT NULL)
);
CREATE INDEX proposals_by_status ON proposals (project_id, status, id);
CREATE INDEX proposals_by_request ON proposals (project_id, requested_slug, agent);
CREATE INDEX proposals_by_claim ON proposals (claim, project_id, agent) WHERE status = 'pending';
CREATE INDEX proposals_by_run ON proposals (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE verdicts (
    id          ${text} PRIMARY KEY,
    seq         ${int} NOT NULL,
    project_id  ${text} NOT NULL REFERENCES projects (id),
    op          ${text} NOT NULL CHECK (op IN (
                    'add', 'update', 'supersede', 'retire', 'restore', 'hold', 'skip', 'refuse')),
    memory_id   ${text},
    proposal_id ${text},
    actor       ${text} NOT NULL,
    role        ${text} NOT NULL,
    origin      ${text} NOT NULL,
    run_id      ${text},
    source_id   ${text},
    reason      ${text} NOT NULL,
    trace       ${text} NOT NULL,
    effects     ${text} NOT NULL,
    targets     ${text} NOT NULL,
    candidate   ${text},
    digest      ${text},
    idempotency ${text},
    reverts     ${text},
    reverted_by ${text},
    at          ${text} NOT NULL
);
CREATE INDEX verdicts_by_seq ON verdicts (project_id, seq);
CREATE INDEX verdicts_by_actor ON verdicts (actor, seq);
CREATE INDEX verdicts_by_memory ON verdicts (memory_id, seq) WHERE memory_id IS NOT NULL;
CREATE INDEX verdicts_by_proposal ON verdicts (proposal_id, seq) WHERE proposal_id IS NOT NULL;
CREATE INDEX verdicts_by_run ON verdicts (run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX verdicts_by_source ON verdicts (source_id, seq) WHERE source_id IS NOT NULL;

-- The first answer to each request that bore a key: a retry gets it again, another request a conflict.
CREATE TABLE requests (
    actor     ${text} NOT NULL,
    key       ${text} NOT NULL,
    operation ${text} NOT NULL,
    digest    ${text} NOT NULL,
    answer    ${text} NOT NULL,
    at        ${text} NOT NULL,
    PRIMARY KEY (actor, key)
);

-- Secrets under which claims are hashed. More than one only after an import from another ledger.
-- The one at position 0 is the ledger's own: claims of memories and proposals are hashed under it.
CREATE TABLE claim_keys (
    id         ${text} PRIMARY KEY,
    position   ${int} NOT NULL UNIQUE,
    secret     ${text} NOT NULL,
    created_at ${text} NOT NULL
);

CREATE TABLE tombstones (
    id         ${text} PRIMARY KEY,
    project_id ${text} NOT NULL REFERENCES projects (id),
    cause      ${text} NOT NULL CHECK (cause IN ('rejected', 'retired', 'erased')),
    key_id     ${text} NOT NULL REFERENCES claim_keys (id),
    claim      ${text} NOT NULL,
    -- the only agent that it holds for; '' is everyone. An agent's own act binds nobody else.
    agent      ${text} NOT NULL DEFAULT '',
    ref        ${text} NOT NULL,
    slug       ${text} NOT NULL,
    actor      ${text} NOT NULL,
    reason     ${text} NOT NULL,
    at         ${text} NOT NULL,
    seq        ${int} NOT NULL,
    lifted_at  ${text},
    lifted_by  ${text}
);
CREATE INDEX tombstones_by_claim ON tombstones (claim, project_id);
CREATE INDEX tombstones_by_ref ON tombstones (ref);

CREATE TABLE sessions (
    id         ${text} PRIMARY KEY,
    project_id ${text} NOT NULL REFERENCES projects (id),
    session    ${text} NOT NULL,
    focus      ${text} NOT NULL,
    issues     ${text} NOT NULL,
    summary    ${text} NOT NULL,
    state      ${text},
    started_by ${text} NOT NULL,
    started_at ${text} NOT NULL,
    updated_at ${text} NOT NULL,
    ended_at   ${text},
    ended_by   ${text},
    seq        ${int} NOT NULL,
    UNIQUE (project_id, session)
);
-- One open session per project, whoever races.
CREATE UNIQUE INDEX sessions_open ON sessions (project_id) WHERE ended_at IS NULL;

CREATE TABLE runs (
    id            ${text} PRIMARY KEY,
    project_id    ${text} NOT NULL REFERENCES projects (id),
    agent         ${text} NOT NULL,
    task          ${text} NOT NULL,
    parent_run_id ${text} REFERENCES runs (id),
    session_id    ${text},
    status        ${text} NOT NULL CHECK (status IN ('open', 'finished', 'failed', 'abandoned')),
    outcome       ${text},
    summary       ${text},
    snapshot      ${text},
    snapshot_seq  ${int},
    started_at    ${text} NOT NULL,
    finished_at   ${text}
);
CREATE INDEX runs_of_project ON runs (project_id, id);

-- Raw captured material; never deleted because processing failed.
CREATE TABLE sources (
    id           ${text} PRIMARY KEY,
    project_id   ${text} NOT NULL REFERENCES projects (id),
    kind         ${text} NOT NULL CHECK (kind IN ('manual', 'conversation', 'run', 'document', 'import')),
    title        ${text} NOT NULL,
    locator      ${text},
    content      ${text},
    digest       ${text} NOT NULL,
    size         ${int} NOT NULL,
    capture_mode ${text},
    consent      ${text},
    run_id       ${text},
    created_by   ${text} NOT NULL,
    created_at   ${text} NOT NULL,
    erased_at    ${text},
    UNIQUE (project_id, digest)
);

CREATE TABLE ingestion_events (
    id              ${text} PRIMARY KEY,
    project_id      ${text} NOT NULL REFERENCES projects (id),
    trigger_type    ${text} NOT NULL,
    source_id       ${text} REFERENCES sources (id),
    requested_scope ${text},
    state           ${text} NOT NULL,
    outcome         ${text},
    retry_count     ${int} NOT NULL,
    error           ${text},
    created_at      ${text} NOT NULL,
    started_at      ${text},
    finished_at     ${text}
);
CREATE INDEX ingestion_by_source ON ingestion_events (source_id);

CREATE TABLE jobs (
    id          ${text} PRIMARY KEY,
    project_id  ${text} NOT NULL REFERENCES projects (id),
    kind        ${text} NOT NULL,
    payload     ${text} NOT NULL,
    state       ${text} NOT NULL CHECK (state IN ('todo', 'doing', 'done', 'dead')),
    priority    ${int} NOT NULL,
    unique_key  ${text},
    due_at      ${text} NOT NULL,
    lease_until ${text},
    worker      ${text},
    attempts    ${int} NOT NULL,
    error       ${text},
    created_at  ${text} NOT NULL,
    finished_at ${text}
);
CREATE INDEX jobs_due ON jobs (state, due_at, id);
CREATE UNIQUE INDEX jobs_once ON jobs (kind, unique_key) WHERE unique_key IS NOT NULL AND state IN ('todo', 'doing');

-- Retrieval logs: what was asked, what came back and why.
CREATE TABLE searches (
    id         ${text} PRIMARY KEY,
    project_id ${text} NOT NULL REFERENCES projects (id),
    actor      ${text} NOT NULL,
    run_id     ${text},
    query      ${text} NOT NULL,
    filters    ${text} NOT NULL,
    state      ${text} NOT NULL,
    trace      ${text} NOT NULL,
    seq        ${int} NOT NULL,
    at         ${text} NOT NULL
);
CREATE INDEX searches_of_project ON searches (project_id, id);

CREATE TABLE saved_views (
    id         ${text} PRIMARY KEY,
    project_id ${text} NOT NULL REFERENCES projects (id),
    name       ${text} NOT NULL,
    operation  ${text} NOT NULL,
    arguments  ${text} NOT NULL,
    created_by ${text} NOT NULL,
    created_at ${text} NOT NULL,
    UNIQUE (project_id, name)
);

-- What was done to this copy of the ledger: backups, imports, restores. Not part of an archive.
CREATE TABLE maintenance (
    id     ${text} PRIMARY KEY,
    kind   ${text} NOT NULL,
    actor  ${text} NOT NULL,
    detail ${text} NOT NULL,
    at     ${text} NOT NULL
);

-- Derived: text made searchable, and sketches that find near duplicates. Rebuilt from the rows above.
CREATE TABLE texts (
    doc        ${sequence},
    ref        ${text} NOT NULL UNIQUE,
    kind       ${text} NOT NULL CHECK (kind IN ('memory', 'proposal')),
    project_id ${text} NOT NULL,
    title      ${text} NOT NULL,
    body       ${text} NOT NULL
);

CREATE TABLE bands (
    project_id ${text} NOT NULL,
    band       ${int} NOT NULL,
    ref        ${text} NOT NULL,
    PRIMARY KEY (project_id, band, ref)
)${clustered};
