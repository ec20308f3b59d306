-- Files in workspaces. All of it is local to one copy of the ledger: an archive brings none of it.

-- The manifest: every file that we wrote, and what stands there is ours for as long as it holds what we wrote.
-- A row is put before its file is written, so that a crash in between leaves nothing that we do not know.
CREATE TABLE written_files (
    host          ${text} NOT NULL,
    root          ${text} NOT NULL,
    path          ${text} NOT NULL,
    project_id    ${text} NOT NULL REFERENCES projects (id),
    kind          ${text} NOT NULL CHECK (kind IN ('mirror', 'note', 'index', 'inbox', 'block')),
    -- what the file shows: the id of a memory or a proposal; '' where it is about many
    ref           ${text} NOT NULL,
    -- the SHA-256 of what should stand there; '' where nothing should, and an edited file does
    digest        ${text} NOT NULL,
    -- 0 where somebody else's file stands in the place, and we never wrote there
    stands        ${int} NOT NULL DEFAULT 1,
    -- of a note: the revision that it shows, on which an edit of it stands
    base_revision ${int},
    seq           ${int} NOT NULL,
    at            ${text} NOT NULL,
    PRIMARY KEY (host, root, path)
);
CREATE INDEX written_files_by_ref ON written_files (host, root, ref) WHERE ref <> '';

-- What we once wrote at a path, in whichever workspace: git puts old renderings back, and brings those of others.
CREATE TABLE renderings (
    project_id ${text} NOT NULL REFERENCES projects (id),
    path       ${text} NOT NULL,
    digest     ${text} NOT NULL,
    seq        ${int} NOT NULL,
    PRIMARY KEY (project_id, path, digest)
)${clustered};

-- What followers of the log ask for: what changed after a place in it.
CREATE INDEX proposals_by_seq ON proposals (project_id, seq);

-- Sources hold files too, and a file need not be text: `content` is that text, or bytes in base 64.
ALTER TABLE sources ADD COLUMN encoding ${text} NOT NULL DEFAULT 'utf-8' CHECK (encoding IN ('utf-8', 'base64'));

-- Adoptions: what came in from the files of a repository. Canonical, but for the words, which are in the sources
-- and in the proposals. An adoption that was interrupted is open, and the next one from the same place goes on with it.
CREATE TABLE adoptions (
    id          ${text} PRIMARY KEY,
    project_id  ${text} NOT NULL REFERENCES projects (id),
    root        ${text} NOT NULL,
    actor       ${text} NOT NULL,
    state       ${text} NOT NULL CHECK (state IN ('open', 'done')),
    started_at  ${text} NOT NULL,
    finished_at ${text}
);
CREATE INDEX adoptions_of_project ON adoptions (project_id, id);

-- Which source holds which file: two files of the same bytes are one source.
CREATE TABLE adopted_files (
    adoption_id ${text} NOT NULL REFERENCES adoptions (id),
    path        ${text} NOT NULL,
    source_id   ${text} NOT NULL REFERENCES sources (id),
    dialect     ${text} NOT NULL,
    -- the SHA-256 of the file itself; another one than the source's where lines were withheld
    digest      ${text} NOT NULL,
    PRIMARY KEY (adoption_id, path)
);
CREATE INDEX adopted_files_by_source ON adopted_files (source_id, path);

-- What became of each entry of a source. A source never changes, so its lines name an entry for good.
CREATE TABLE adopted_entries (
    source_id   ${text} NOT NULL REFERENCES sources (id),
    first_line  ${int} NOT NULL,
    last_line   ${int} NOT NULL,
    adoption_id ${text} NOT NULL REFERENCES adoptions (id),
    certainty   ${text} NOT NULL,
    outcome     ${text} NOT NULL CHECK (outcome IN ('proposed', 'refused')),
    proposal_id ${text} REFERENCES proposals (id),
    PRIMARY KEY (source_id, first_line)
);
CREATE INDEX adopted_entries_of_adoption ON adopted_entries (adoption_id, proposal_id);

-- Notes and letters, which people write: what was last read of each, and what came of it.
CREATE TABLE read_files (
    host       ${text} NOT NULL,
    root       ${text} NOT NULL,
    path       ${text} NOT NULL,
    project_id ${text} NOT NULL REFERENCES projects (id),
    kind       ${text} NOT NULL CHECK (kind IN ('note', 'letter')),
    -- the SHA-256 of what was read; '' where the file was missing
    digest     ${text} NOT NULL,
    -- which file it was and when it was changed, so that it need not be read again; '' when that is not known
    facts      ${text} NOT NULL,
    state      ${text} NOT NULL,
    why        ${text} NOT NULL,
    advice     ${text} NOT NULL,
    line       ${int},
    -- the revision that the file says it shows
    claimed    ${int},
    -- proposals that were made of it, as JSON
    proposals  ${text} NOT NULL,
    at         ${text} NOT NULL,
    PRIMARY KEY (host, root, path)
);

-- When the notes of a workspace were last looked through: which directory it was, and where git stood in it.
CREATE TABLE looks (
    host ${text} NOT NULL,
    root ${text} NOT NULL,
    made ${text} NOT NULL,
    tree ${text} NOT NULL,
    at   ${text} NOT NULL,
    PRIMARY KEY (host, root)
);
