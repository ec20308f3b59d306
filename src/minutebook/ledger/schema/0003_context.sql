-- What a compiled context is read from.

-- Derived: where a compiled context finds an active memory. `doc` follows the order of creation, so that the newest
-- that hold a word are the first ones found. Boundaries are not here: they are read from the memories themselves.
CREATE TABLE shelves (
    doc        ${int} PRIMARY KEY,
    ref        ${text} NOT NULL UNIQUE,
    project_id ${text} NOT NULL,
    -- the agent or session that it is for; '' is every agent of the project
    reader     ${text} NOT NULL,
    layer      ${text} CHECK (layer IN ('core', 'lesson', 'profile', 'episode')),
    -- checksums of its words, each with project and reader in it: those of its name, then |, then the others
    words      ${text} NOT NULL
);
CREATE INDEX shelves_by_layer ON shelves (project_id, reader, layer, doc) WHERE layer IS NOT NULL;

-- A boundary must not depend on anything derived.
CREATE INDEX memories_boundaries ON memories (project_id, created_seq)
    WHERE status = 'active' AND type IN ('architectural', 'scope');

-- A session as each change left it, for time travel.
CREATE TABLE session_revisions (
    session_id ${text} NOT NULL REFERENCES sessions (id),
    revision   ${int} NOT NULL,
    seq        ${int} NOT NULL,
    state      ${text} NOT NULL,
    PRIMARY KEY (session_id, revision)
)${clustered};
CREATE INDEX sessions_by_seq ON sessions (project_id, seq);

-- What stood before has no shelf yet: that takes words, and is done when the ledger is opened next.
INSERT INTO maintenance (id, kind, actor, detail, at)
SELECT 'shelves', 'unshelved', 'minutebook', '{}', '1970-01-01T00:00:00.000000Z'
 WHERE EXISTS (SELECT 1 FROM memories);
