-- Who asked for an entry, who keeps it, how much each user has, and figures by the hour.

-- Kept until this second; 0: not pinned. Eviction only looks at entries that are not.
ALTER TABLE entry ADD COLUMN pinned_s INTEGER NOT NULL DEFAULT 0;
CREATE INDEX entry_free ON entry(used_seq) WHERE pinned_s = 0;
CREATE INDEX entry_free_of ON entry(uid, used_seq) WHERE pinned_s = 0;
CREATE INDEX entry_pinned ON entry(pinned_s) WHERE pinned_s > 0;

-- On a shared daemon a user sees the entries that he asked for.
CREATE TABLE asked (
  entry INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  PRIMARY KEY (entry, uid)
) STRICT, WITHOUT ROWID;
INSERT INTO asked SELECT id, uid FROM entry;

-- Bytes of all entries that a user was the first to ask for.
CREATE TABLE share (
  uid INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO share SELECT uid, sum(size) FROM entry GROUP BY uid;

CREATE TRIGGER entry_came AFTER INSERT ON entry BEGIN
  INSERT OR IGNORE INTO asked(entry, uid) VALUES(new.id, new.uid);
  INSERT INTO share(uid, bytes) VALUES(new.uid, new.size)
    ON CONFLICT(uid) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER entry_went AFTER DELETE ON entry BEGIN
  DELETE FROM asked WHERE entry = old.id;
  UPDATE share SET bytes = bytes - old.size WHERE uid = old.uid;
END;

-- "Where is this file from": objects have an index, small artifacts lie in the rows.
CREATE INDEX member_small ON member(sha256) WHERE data IS NOT NULL AND kind = 'artifact';

-- How much each counter grew in an hour (since the epoch).
CREATE TABLE figure (
  hour INTEGER NOT NULL,
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (hour, name)
) STRICT, WITHOUT ROWID;
