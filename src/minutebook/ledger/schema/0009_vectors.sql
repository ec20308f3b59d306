-- Meaning as numbers. Derived: built anew from the words, and never part of an archive.

-- What vectors must share to be compared. A model that changed is another space.
CREATE TABLE spaces (
    id         ${text} PRIMARY KEY,
    name       ${text} NOT NULL,
    digest     ${text} NOT NULL,
    dimensions ${int} NOT NULL,
    created_at ${text} NOT NULL,
    used_at    ${text} NOT NULL
);

-- One row for each memory in a space: all its passages, in float16, one after the other. A row is never changed,
-- only replaced, so that whoever holds the numbers of a project in memory asks for what is newer than the last.
CREATE TABLE vectors (
    doc        ${sequence},
    ref        ${text} NOT NULL,
    space      ${text} NOT NULL REFERENCES spaces (id),
    project_id ${text} NOT NULL,
    revision   ${int} NOT NULL,
    digest     ${text} NOT NULL,
    numbers    ${blob} NOT NULL,
    UNIQUE (ref, space)
);
CREATE INDEX vectors_of_project ON vectors (space, project_id, doc);

-- What lies beside an episode: the others of its source or session, in the order in which they were written.
CREATE INDEX memories_by_session ON memories (session_id, id) WHERE session_id <> '';
