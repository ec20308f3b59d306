-- The words of the shelves on SQLite: which rows hold one, and nothing more.
CREATE VIRTUAL TABLE shelf_words USING fts5 (
    words, content='shelves', content_rowid='doc', detail=none, columnsize=0, tokenize='ascii'
);
INSERT INTO shelf_words (shelf_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER shelves_added AFTER INSERT ON shelves BEGIN
    INSERT INTO shelf_words (rowid, words) VALUES (new.doc, new.words);
END;
CREATE TRIGGER shelves_removed AFTER DELETE ON shelves BEGIN
    INSERT INTO shelf_words (shelf_words, rowid, words) VALUES ('delete', old.doc, old.words);
END;
CREATE TRIGGER shelves_changed AFTER UPDATE OF words ON shelves BEGIN
    INSERT INTO shelf_words (shelf_words, rowid, words) VALUES ('delete', old.doc, old.words);
    INSERT INTO shelf_words (rowid, words) VALUES (new.doc, new.words);
END;
