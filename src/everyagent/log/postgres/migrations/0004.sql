-- Commits that a node found before it was told of them, at its last heartbeat.
ALTER TABLE nodes ADD COLUMN lag bigint NOT NULL DEFAULT 0;
