-- The index of the cache. A released migration is never edited: the next change is 0002_*.sql.
-- Digests are 32-byte blobs. Times: _s seconds since the epoch, _ns nanoseconds.

-- One row per request key. used_seq is a logical clock, so that no step of the wall clock
-- changes the order of eviction.
CREATE TABLE entry (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  manifest BLOB NOT NULL,        -- digest over key, facts and members: a damaged row is seen at the hit
  model_sha256 BLOB NOT NULL,
  options_sha256 BLOB NOT NULL,  -- of every key part but model and external files
  model TEXT NOT NULL,
  soc TEXT NOT NULL,
  backend TEXT NOT NULL,
  mode TEXT NOT NULL,
  table_id TEXT NOT NULL,
  toolkit TEXT NOT NULL,
  uid INTEGER NOT NULL,
  device_ready INTEGER NOT NULL,
  compile_ms INTEGER NOT NULL,
  peak_rss_bytes INTEGER NOT NULL,
  tool_exit INTEGER NOT NULL,
  size INTEGER NOT NULL,         -- of all members
  created_s INTEGER NOT NULL,
  used_s INTEGER NOT NULL,
  used_seq INTEGER NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX entry_used ON entry(used_seq);
CREATE INDEX entry_model ON entry(model_sha256);
CREATE INDEX entry_options ON entry(options_sha256);

-- The named parts of the key, for "why". Apart from entry, so that a touch rewrites little.
CREATE TABLE entry_parts (
  entry INTEGER PRIMARY KEY,
  parts BLOB NOT NULL
) STRICT;

-- id = entry * 128 + position: the members of an entry are one range of row ids.
-- data is NULL when the member is an object.
CREATE TABLE member (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  mode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  data BLOB
) STRICT;
CREATE INDEX member_object ON member(sha256) WHERE data IS NULL;

-- One row per file under objects/. It lives as long as a member names it (member_object); ino and
-- mtime_ns are what stat said when it was published.
CREATE TABLE object (
  sha256 BLOB PRIMARY KEY,
  size INTEGER NOT NULL,
  ino INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What emit would write again: a plan key names an object, never a result.
CREATE TABLE plan (
  plan_key BLOB PRIMARY KEY,
  sha256 BLOB NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  mode INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX plan_object ON plan(sha256);

-- Objects whose file may exist without a row: about to be published, or evicted and not yet
-- unlinked. Looked through when the cache is opened, so no start scans the objects.
CREATE TABLE limbo (
  sha256 BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Further files that a model names (ONNX external data), each ended by a NUL.
CREATE TABLE inputs (
  id INTEGER PRIMARY KEY,
  model_sha256 BLOB NOT NULL UNIQUE,
  names BLOB NOT NULL
) STRICT;

-- Digests of input files that have not changed since.
CREATE TABLE memo (
  id INTEGER PRIMARY KEY,
  dev INTEGER NOT NULL,
  ino INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  UNIQUE (dev, ino)
) STRICT;

CREATE TABLE counter (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
