-- The words of the shelves on PostgreSQL: a generated column, so that no row is taken apart to be compared. Without
-- a pending list: a planner that has to read one prefers to read the whole table.
ALTER TABLE shelves ADD COLUMN held text[] COLLATE "C" GENERATED ALWAYS AS (string_to_array(words, ' ')) STORED;
CREATE INDEX shelves_words ON shelves USING gin (held) WITH (fastupdate = off);
