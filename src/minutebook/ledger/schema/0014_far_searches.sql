-- When a search looked into projects that no link leads to: its trace may tell of them, and who is bound to a project
-- is not shown it.
ALTER TABLE searches ADD COLUMN far ${text};
-- Of earlier ones of people nobody knows it.
UPDATE searches SET far = at WHERE actor NOT IN (SELECT id FROM actors WHERE role = 'agent');
