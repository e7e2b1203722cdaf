-- The second telling of a session. Its events lie among the others, under the session's number | 1 << 30.
CREATE TABLE views (
    session INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL,
    agent_version INTEGER NOT NULL,
    environment_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    archived_at INTEGER,
    head INTEGER NOT NULL,
    hidden INTEGER NOT NULL,
    state BLOB NOT NULL,
    document BLOB NOT NULL
) STRICT;
CREATE INDEX views_by_agent ON views (agent_id);
