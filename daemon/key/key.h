/* The request key: an ordered list of named parts, and the digest over all of them.
 *
 * A part is a name and a value that a person can read. The digest covers names and whole
 * values; for "why" a part keeps its value as text (capped, OC_KEY_TEXT_MAX) beside the
 * digest of all of it. Parts are packed into one blob that the cache stores with each
 * entry, so that a miss can say what differs from the nearest entry, with both values.
 *
 * Names: "format", "backend", "backend:<what>" (identity), "soc_version", "model",
 * "external:<name>", "<flag>" for a content flag or an option ("precision_mode" holds
 * both spellings of the mode, folded), "strict_lists". The name given with --output is no
 * part: objects carry neutral labels.
 *
 * Pure: no files, no clock, no environment. Memory: everything lives in the arena given
 * to oc_key_parts_init(). Thread: plain data, no locks. */
#ifndef OC_KEY_KEY_H
#define OC_KEY_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "digest/digest.h"
#include "flags/flags.h"

/* Raise when the meaning of a part changes: every old entry then becomes a miss. */
#define OC_KEY_FORMAT "1"
/* Text kept per part for "why"; a longer value is cut and compared by its digest. */
#define OC_KEY_TEXT_MAX 8192
/* Hex digits of the short key shown to people. */
#define OC_KEY_SHORT 12

enum oc_key_kind {
  OC_KEY_VALUE = 1,   /* an option: the text is the canonical value */
  OC_KEY_CONTENT = 2, /* a list, config or folder: the text is its canonical content */
  OC_KEY_DIGEST = 3,  /* a file: the text is 64 hex digits */
};

struct oc_key_part {
  const char *name;
  enum oc_key_kind kind;
  const char *text; /* at most OC_KEY_TEXT_MAX bytes, NUL-terminated */
  size_t text_len;
  bool cut;                      /* text is shorter than the value */
  uint8_t sha256[OC_SHA256_LEN]; /* of the whole value; for OC_KEY_DIGEST the file's own
                                    digest */
};

struct oc_key_parts {
  struct oc_arena *arena;
  struct oc_key_part *items;
  size_t n;
  size_t room;
};

void oc_key_parts_init(struct oc_key_parts *ps, struct oc_arena *arena);
/* Each adds one part and returns 0 or OC_E_NOMEM. Names must be unique. */
int oc_key_add_value(struct oc_key_parts *ps, const char *name, const char *value);
int oc_key_add_content(struct oc_key_parts *ps, const char *name, const void *p,
                       size_t len);
int oc_key_add_digest(struct oc_key_parts *ps, const char *name,
                      const uint8_t sha256[OC_SHA256_LEN]);
struct oc_key_folder;
/* A content whose lines are the folder's files; digests count in full, and are shown
 * shortened. */
int oc_key_add_folder(struct oc_key_parts *ps, const char *name,
                      const struct oc_key_folder *f);
const struct oc_key_part *oc_key_find(const struct oc_key_parts *ps, const char *name);

/* A file that a content flag names. */
struct oc_key_file {
  const char *flag;              /* "model", "keep_dtype", ... */
  uint8_t sha256[OC_SHA256_LEN]; /* of its bytes */
  const void *bytes; /* required for flags that oc_key_wants_bytes() names, else NULL */
  size_t len;
};
/* A folder that a flag names: what lies in it, in the order of names. */
struct oc_key_folder_entry {
  const char *name; /* relative, without control characters */
  bool folder;      /* no digest */
  uint8_t sha256[OC_SHA256_LEN];
};
struct oc_key_folder {
  const char *flag;
  const struct oc_key_folder_entry *entries;
  size_t n;
};
struct oc_key_external {
  const char *name; /* as the model spells it, relative */
  uint8_t sha256[OC_SHA256_LEN];
};
/* One piece of the backend's identity: a file by digest, or a text. */
struct oc_key_identity {
  const char *name; /* "worker", "table:soc/ascend310p.yaml", "toolkit" */
  const char *text; /* used when not NULL */
  uint8_t sha256[OC_SHA256_LEN];
};

struct oc_key_request {
  const struct oc_flags *flags; /* parsed; not changed */
  const char *backend;          /* "atc" or "builtin", already resolved */
  bool strict_lists;
  const struct oc_key_file *files;
  size_t n_files;
  const struct oc_key_folder *folders;
  size_t n_folders;
  const struct oc_key_external *external;
  size_t n_external;
  const struct oc_key_identity *identity;
  size_t n_identity;
};

/* True when the key needs the content of this flag's file (a list that is canonicalised),
 * not only its digest. */
bool oc_key_wants_bytes(const char *flag);
/* Fills `ret` (initialised by the caller). 0, OC_E_NOMEM, or OC_E_ARG when a content flag
 * has no entry in `files` or `folders`: such a request has no key and cannot be cached;
 * the message is the reason. Whether a request may be cached at all is
 * oc_flags_uncached(). */
int oc_key_build(const struct oc_key_request *req, struct oc_key_parts *ret,
                 struct oc_error *err);

/* Digest over all that oc_key_build() reads: requests with one fingerprint have one key
 * (not the other way round). Far cheaper than the key. 0 or OC_E_NOMEM. */
int oc_key_fingerprint(const struct oc_key_request *req, uint8_t ret[OC_SHA256_LEN])
    __attribute__((warn_unused_result));

/* The request key. 0 or OC_E_NOMEM. */
int oc_key_digest(const struct oc_key_parts *ps, uint8_t ret[OC_SHA256_LEN])
    __attribute__((warn_unused_result));
/* Digest over every part that is neither the model nor an external file: two requests
 * with this one equal differ in the model only. 0 or OC_E_NOMEM. */
int oc_key_options_digest(const struct oc_key_parts *ps, uint8_t ret[OC_SHA256_LEN])
    __attribute__((warn_unused_result));
/* The first OC_KEY_SHORT hex digits, for people. */
void oc_key_short(const uint8_t key[OC_SHA256_LEN], char ret[OC_KEY_SHORT + 1]);

/* One blob, and back. 0, OC_E_NOMEM or OC_E_FORMAT. */
int oc_key_parts_pack(const struct oc_key_parts *ps, struct oc_buf *out);
int oc_key_parts_unpack(const void *blob, size_t len, struct oc_key_parts *ret,
                        struct oc_error *err);

/* What differs between two requests: parts in the order of `now`, then those only `then`
 * has. */
struct oc_key_difference {
  const char *name;
  enum oc_key_kind kind;
  const char *then; /* value or the lines only the older one has; NULL: the part is new */
  const char *now; /* value or the lines only the newer one has; NULL: the part is gone */
};
/* `ret` lives in `arena`. 0 or OC_E_NOMEM. */
int oc_key_compare(const struct oc_key_parts *then, const struct oc_key_parts *now,
                   struct oc_arena *arena, struct oc_key_difference **ret, size_t *ret_n);
/* One sentence for a miss: "soc_version is 'Ascend310P3', was 'Ascend910B1'". */
int oc_key_difference_text(const struct oc_key_difference *d, struct oc_buf *out);

/* Of `n` packed part lists the one with the fewest differences (the first of equals),
 * with those differences; blobs that cannot be read are passed over. 1 found, 0 none, or
 * OC_E_NOMEM. */
struct oc_key_blob {
  const void *p;
  size_t len;
};
int oc_key_nearest(const struct oc_key_parts *now, const struct oc_key_blob *blobs,
                   size_t n, struct oc_arena *arena, size_t *ret_index,
                   struct oc_key_difference **ret, size_t *ret_n);

#endif
