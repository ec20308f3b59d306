-- Full text on SQLite: an index over texts, kept by triggers so that no statement of ours knows it is there.
CREATE VIRTUAL TABLE fulltext USING fts5 (
    title, body, content='texts', content_rowid='doc', tokenize="porter unicode61 remove_diacritics 2"
);
-- Erased words must leave the index at once and not at some later merge.
INSERT INTO fulltext (fulltext, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
    INSERT INTO fulltext (rowid, title, body) VALUES (new.doc, new.title, new.body);
END;
CREATE TRIGGER texts_removed AFTER DELETE ON texts BEGIN
    INSERT INTO fulltext (fulltext, rowid, title, body) VALUES ('delete', old.doc, old.title, old.body);
END;
CREATE TRIGGER texts_changed AFTER UPDATE ON texts BEGIN
    INSERT INTO fulltext (fulltext, rowid, title, body) VALUES ('delete', old.doc, old.title, old.body);
    INSERT INTO fulltext (rowid, title, body) VALUES (new.doc, new.title, new.body);
END;
