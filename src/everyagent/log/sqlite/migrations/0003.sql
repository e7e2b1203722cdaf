-- Documents beside the sessions. A key is unique among the records of one kind and parent.
-- A record's blobs are in `blobs` under its number below zero.
CREATE TABLE records (
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
    UNIQUE (kind, id),
    UNIQUE (kind, parent, key)
) STRICT;
CREATE INDEX records_by_parent ON records (parent, kind, number);
CREATE INDEX records_by_kind ON records (kind, number);
