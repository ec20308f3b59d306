-- What search finds by, and what is known of past searches.

-- Derived: the terms of each memory and proposal, as one line (policy/terms.py). The texts of one project lie beside
-- each other, so that a search within it reads the index from one place to another and never a list of all projects.
DROP TABLE texts;
CREATE TABLE texts (
    doc        ${int} PRIMARY KEY,
    ref        ${text} NOT NULL UNIQUE,
    kind       ${text} NOT NULL CHECK (kind IN ('memory', 'proposal')),
    project_id ${text} NOT NULL,
    terms      ${text} NOT NULL
);

-- Derived: where the texts of a project begin: its number, times 2^28.
CREATE TABLE text_ranges (
    number     ${sequence},
    project_id ${text} NOT NULL UNIQUE
);

-- Derived: every word that any text holds, by three of its letters at a time, for words that were spelled otherwise.
-- The word itself is the row whose gram is empty.
CREATE TABLE spellings (
    gram ${text} NOT NULL,
    term ${text} NOT NULL,
    PRIMARY KEY (gram, term)
)${clustered};

-- Which search of its run it was.
ALTER TABLE searches ADD COLUMN turn ${int};
CREATE INDEX searches_of_run ON searches (run_id, turn) WHERE run_id IS NOT NULL;
CREATE INDEX searches_by_time ON searches (at);

-- How often a memory came back, counted from the traces. Of the memory and not of its text: an edit keeps it.
CREATE TABLE signals (
    ref         ${text} PRIMARY KEY,
    recalls     ${int} NOT NULL,
    recalled_at ${text} NOT NULL
);

-- What stood before has no terms yet: that takes words, and is done when the ledger is opened next.
INSERT INTO maintenance (id, kind, actor, detail, at)
SELECT 'texts', 'unread', 'minutebook', '{}', '1970-01-01T00:00:00.000000Z'
 WHERE EXISTS (SELECT 1 FROM memories) OR EXISTS (SELECT 1 FROM proposals);
