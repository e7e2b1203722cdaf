-- Contents outside of the database, in a folder or an S3 bucket, have no pieces.
ALTER TABLE blob_contents ADD COLUMN outside boolean NOT NULL DEFAULT false;

-- The store that holds them, and the id that it was given: another store is refused.
CREATE TABLE blob_store (one bigint PRIMARY KEY CHECK (one = 1), log_id text NOT NULL, name text NOT NULL);
