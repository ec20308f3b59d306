-- Revisions as rows, and not in the tree of their key: that holds a quarter of a page at most, and nearly every state
-- is longer, so that each took a page for its rest. On PostgreSQL they are rows already.
DROP INDEX revisions_by_seq;
ALTER TABLE revisions RENAME TO revisions_before;
CREATE TABLE revisions (
    memory_id  ${text} NOT NULL REFERENCES memories (id),
    revision   ${int} NOT NULL,
    seq        ${int} NOT NULL,
    verdict_id ${text} NOT NULL,
    state      ${text} NOT NULL,
    PRIMARY KEY (memory_id, revision)
);
INSERT INTO revisions (memory_id, revision, seq, verdict_id, state)
SELECT memory_id, revision, seq, verdict_id, state FROM revisions_before ORDER BY seq;
DROP TABLE revisions_before;
CREATE INDEX revisions_by_seq ON revisions (seq);
