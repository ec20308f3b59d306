-- Ten thousand notes must not be read to find the ten other files of a workspace; `at` answers whether any was put since.
CREATE INDEX written_files_by_kind ON written_files (host, root, kind, at);
CREATE INDEX read_files_by_kind ON read_files (host, root, kind, at);
