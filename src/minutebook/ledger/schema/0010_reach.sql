-- Which projects may read of which others, and since when. A row is a span of the log: it begins with the event
-- `seq` and ends with `ended_seq`, and is never taken away, so that what was seen can be told for any place in it.
CREATE TABLE reaches (
    id         ${text} PRIMARY KEY,
    -- the project that reads
    project_id ${text} NOT NULL REFERENCES projects (id),
    -- the project that is read, and what it was called. It may be in another ledger: an archive of the reading
    -- project takes the link along, and nothing that it leads to.
    other_id   ${text} NOT NULL,
    other_slug ${text} NOT NULL,
    -- one memory that a link leads to, from which memory and how; '' where all of the project is meant
    memory_id  ${text} NOT NULL,
    from_id    ${text} NOT NULL,
    relation   ${text} NOT NULL,
    created_by ${text} NOT NULL,
    created_at ${text} NOT NULL,
    seq        ${int} NOT NULL,
    ended_by   ${text},
    ended_at   ${text},
    ended_seq  ${int},
    -- it ended because the other project was put away, and comes back with it
    paused_at  ${text}
);
CREATE UNIQUE INDEX reaches_open
    ON reaches (project_id, other_id, memory_id, from_id, relation) WHERE ended_seq IS NULL;
CREATE INDEX reaches_of_project ON reaches (project_id, seq);
CREATE INDEX reaches_of_other ON reaches (other_id);
CREATE INDEX reaches_to ON reaches (memory_id) WHERE memory_id <> '';
CREATE INDEX reaches_from ON reaches (from_id) WHERE from_id <> '';

-- Boundaries stand on a shelf of their own now, by which a linked project finds them. What stood before is put
-- there when the ledger is opened next.
INSERT INTO maintenance (id, kind, actor, detail, at)
SELECT 'shelves', 'unshelved', 'minutebook', '{}', '1970-01-01T00:00:00.000000Z'
 WHERE EXISTS (SELECT 1 FROM memories) AND NOT EXISTS (SELECT 1 FROM maintenance WHERE id = 'shelves');
