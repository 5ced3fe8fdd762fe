-- Bytes of the entry's record beside the index (entries/xx/<key>), 0: it has none. It counts
-- against the limits as the members do.
ALTER TABLE entry ADD COLUMN record INTEGER NOT NULL DEFAULT 0;
