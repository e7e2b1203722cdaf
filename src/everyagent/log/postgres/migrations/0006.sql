-- The beginning of the session's first message: what it is called while it has no title.
ALTER TABLE sessions ADD COLUMN topic TEXT;
