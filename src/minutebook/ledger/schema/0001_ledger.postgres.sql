-- Full text on PostgreSQL: a generated column, so that no statement of ours knows it is there.
ALTER TABLE texts ADD COLUMN words tsvector GENERATED ALWAYS AS (
    setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', body), 'B')
) STORED;
CREATE INDEX texts_words ON texts USING gin (words);
