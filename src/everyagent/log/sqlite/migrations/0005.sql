-- The CRC-32 of an event's body, written with it and checked by every read. NULL for bodies from before, and for those in blobs,
-- whose digest is checked.
ALTER TABLE events ADD COLUMN crc INTEGER;
