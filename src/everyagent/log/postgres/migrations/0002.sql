-- Several daemons (nodes) on one database. A session belongs to the node named by `owner` while that node has a row in
-- `nodes`. A node whose lease has expired may be removed by any other one, and owns nothing from then on.
ALTER TABLE sessions ADD COLUMN owner text;
CREATE TABLE nodes (
    id text PRIMARY KEY,
    name text NOT NULL,
    url text NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    live_sessions bigint NOT NULL
) WITH (fillfactor = 10);

-- A value that only the cluster's key makes: a node with another key is refused.
CREATE TABLE cluster (one bigint PRIMARY KEY CHECK (one = 1), key_check bytea NOT NULL);
