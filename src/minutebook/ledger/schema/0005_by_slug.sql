-- People name a memory by its slug, also one that stands no more.
CREATE INDEX memories_by_slug ON memories (slug, project_id);
