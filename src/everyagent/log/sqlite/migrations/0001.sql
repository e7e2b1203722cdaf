-- Everything of a session that is numbered has the key session << 32 | number: clustered by session, in order.

CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    config BLOB NOT NULL,
    secrets BLOB,
    epoch INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    last_frame INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    native_session_id TEXT,
    agent_mode TEXT NOT NULL,
    permission_mode TEXT NOT NULL,
    model TEXT,
    variant TEXT,
    title TEXT,
    metadata BLOB NOT NULL,
    usage BLOB NOT NULL,
    cost_usd REAL NOT NULL,
    open_turn INTEGER NOT NULL,
    live INTEGER NOT NULL,
    pending_asks INTEGER NOT NULL,
    queued_inputs INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_status ON sessions (status);
CREATE INDEX sessions_by_agent ON sessions (agent);
CREATE INDEX sessions_unfinished ON sessions (number) WHERE live OR open_turn OR queued_inputs;

-- A body that went to a blob is NULL here. `blob` stands before `body`, so that finding it reads no body.
CREATE TABLE events (
    key INTEGER PRIMARY KEY,
    type INTEGER NOT NULL,
    frame INTEGER NOT NULL,
    at INTEGER NOT NULL,
    blob BLOB,
    body BLOB
) STRICT;

CREATE TABLE frames (
    key INTEGER PRIMARY KEY,
    direction INTEGER NOT NULL,
    form INTEGER NOT NULL,
    at INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    blob BLOB,
    body BLOB
) STRICT;

-- The order in which sessions were committed: what the feed of all sessions reads.
CREATE TABLE commits (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT;

CREATE TABLE asks (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    ask_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    request BLOB NOT NULL,
    answer BLOB,
    closed_sequence INTEGER,
    UNIQUE (session, ask_id)
) STRICT;
CREATE INDEX asks_pending ON asks (session) WHERE answer IS NULL;

CREATE TABLE inputs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    item_id TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (session, item_id)
) STRICT;

CREATE TABLE receipts (
    key TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX receipts_by_age ON receipts (at);

-- Which sessions refer to a blob: its file goes with the last of them.
CREATE TABLE blobs (
    session INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_by_digest ON blobs (digest);

-- The rowid is the event's key.
CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');

-- Deleted sessions whose events, frames and search texts are still to be removed, bit by bit.
CREATE TABLE debris (session INTEGER PRIMARY KEY) STRICT;

-- Written to find out whether a full disk has room again.
CREATE TABLE room (tries INTEGER NOT NULL) STRICT;
INSERT INTO room VALUES (0);
