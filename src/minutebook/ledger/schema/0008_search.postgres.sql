-- Full text on PostgreSQL: the terms come ready, so that the server takes nothing apart and both databases agree.
CREATE SEQUENCE text_docs;
ALTER TABLE texts ADD COLUMN words tsvector GENERATED ALWAYS AS (
    array_to_tsvector(array_remove(string_to_array(terms, ' '), ''))
) STORED;
CREATE INDEX texts_words ON texts USING gin (words) WITH (fastupdate = off);
