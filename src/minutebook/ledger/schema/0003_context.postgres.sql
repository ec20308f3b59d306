-- The words of the shelves on PostgreSQL.
CREATE INDEX shelves_words ON shelves USING gin (string_to_array(words, ' '));
