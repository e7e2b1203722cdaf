-- Workspaces: what one made, another does not see. Everything from before belongs to `default`.
ALTER TABLE sessions ADD COLUMN workspace TEXT NOT NULL DEFAULT 'default';
CREATE INDEX sessions_by_workspace ON sessions (workspace, number);

-- A key is unique among the records of one kind and parent in a workspace.
CREATE TABLE records_in_workspaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT NOT NULL,
    key TEXT,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    archived_at INTEGER,
    body BLOB NOT NULL,
    secret BLOB,
    workspace TEXT NOT NULL DEFAULT 'default',
    UNIQUE (kind, id),
    UNIQUE (workspace, kind, parent, key)
) STRICT;
INSERT INTO records_in_workspaces (
    number, kind, id, parent, key, version, created_at, updated_at, archived_at, body, secret
) SELECT number, kind, id, parent, key, version, created_at, updated_at, archived_at, body, secret FROM records;
-- Numbers are never used again, so the highest number ever given moves along.
UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'records')
    WHERE name = 'records_in_workspaces' AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'records');
INSERT INTO sqlite_sequence (name, seq) SELECT 'records_in_workspaces', seq FROM sqlite_sequence
    WHERE name = 'records' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'records_in_workspaces');
DROP TABLE records;
ALTER TABLE records_in_workspaces RENAME TO records;
CREATE INDEX records_by_parent ON records (parent, kind, number);
CREATE INDEX records_by_kind ON records (kind, number);
CREATE INDEX records_by_id ON records (id);

-- Who did what. The digest of an entry covers the one before it; `audit_head` is the last one.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    digest BLOB NOT NULL,
    workspace TEXT NOT NULL GENERATED ALWAYS AS (json_extract(entry, '$.workspace')) VIRTUAL,
    session_id TEXT GENERATED ALWAYS AS (json_extract(entry, '$.session_id')) VIRTUAL,
    key_id TEXT GENERATED ALWAYS AS (json_extract(entry, '$.key_id')) VIRTUAL
) STRICT;
CREATE INDEX audit_by_workspace ON audit (workspace, number);
CREATE INDEX audit_by_session ON audit (session_id, number);
CREATE INDEX audit_by_key ON audit (key_id, number);
CREATE TABLE audit_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL,
    digest BLOB NOT NULL
) STRICT;

-- The cost of the turns that each API key began.
CREATE TABLE spending (
    key_id TEXT PRIMARY KEY,
    usd REAL NOT NULL
) STRICT;
