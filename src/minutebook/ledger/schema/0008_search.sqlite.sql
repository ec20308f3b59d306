-- Full text on SQLite: which texts hold a term, and nothing more. How often is counted in the line itself. The terms
-- come ready: what parts them is a space, and every sign that a term may hold is a letter here.
DROP TABLE fulltext;
CREATE VIRTUAL TABLE fulltext USING fts5 (
    terms, content='texts', content_rowid='doc', detail=none, columnsize=0,
    tokenize="ascii tokenchars '.+#%<>=!~^$_-'"
);
-- Erased words must leave the index at once and not at some later merge.
INSERT INTO fulltext (fulltext, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
    INSERT INTO fulltext (rowid, terms) VALUES (new.doc, new.terms);
END;
CREATE TRIGGER texts_removed AFTER DELETE ON texts BEGIN
    INSERT INTO fulltext (fulltext, rowid, terms) VALUES ('delete', old.doc, old.terms);
END;
CREATE TRIGGER texts_changed AFTER UPDATE OF terms ON texts BEGIN
    INSERT INTO fulltext (fulltext, rowid, terms) VALUES ('delete', old.doc, old.terms);
    INSERT INTO fulltext (rowid, terms) VALUES (new.doc, new.terms);
END;
