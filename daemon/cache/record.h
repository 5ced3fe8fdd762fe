/* A record: everything that one row of the index says of an entry, as bytes that stand
 * for themselves. It lies beside the objects (entries/xx/<key>), so that entries can be
 * taken up again when the index is lost, and it is what an export consists of.
 *
 * Layout, little-endian: "OMCCREC1", then the fields in the order of the struct, each
 * text and blob with its u32 length, then SHA-256 over everything before. */
#ifndef OC_CACHE_RECORD_H
#define OC_CACHE_RECORD_H

#include "base/arena.h"
#include "base/buf.h"
#include "cache/cache.h"
#include "cache/sql.h"

/* Names, parts and inline members; nothing that is stored comes near. */
#define OC_RECORD_MAX (64u << 20)

struct oc_cache_record_member {
  const char *name, *kind;
  uint32_t mode;
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  const void *data; /* inline bytes; NULL: an object */
};

struct oc_cache_record {
  uint8_t key[OC_SHA256_LEN], model[OC_SHA256_LEN], options[OC_SHA256_LEN];
  bool has_plan_key;
  uint8_t plan_key[OC_SHA256_LEN];
  uint64_t created_s;
  struct oc_cache_facts facts;
  const void *parts;
  size_t parts_len;
  struct oc_cache_record_member *members;
  size_t n_members;
};

/* 0 or OC_E_NOMEM. */
int oc_cache_record_pack(const struct oc_cache_record *r, struct oc_buf *out);
/* Everything is copied into `arena`. 0, OC_E_FORMAT (damaged, or of another version) or
 * OC_E_NOMEM. */
int oc_cache_record_unpack(const void *p, size_t len, struct oc_arena *arena,
                           struct oc_cache_record *ret);

struct oc_cache_job;
/* Of a result that is about to be committed; strings are the job's. 0 or OC_E_NOMEM. */
int oc_cache_record_of_job(const struct oc_cache_job *job, struct oc_arena *arena,
                           struct oc_cache_record *ret);
/* Of a row, through any reader connection. 1, 0 (no such entry), OC_E_FORMAT (the row is
 * damaged), or another code. */
int oc_cache_record_of_row(struct oc_sql *reader, const uint8_t key[OC_SHA256_LEN],
                           struct oc_arena *arena, struct oc_cache_record *ret);
/* A job that publishes what the record says, its objects being at hand as `from` says
 * (OC_CACHE_FROM_FOUND, or OUTPUT with outputs[i]). NULL with err. */
struct oc_cache_job *oc_cache_record_job(const struct oc_cache_record *r,
                                         enum oc_cache_from from,
                                         struct oc_cache_output *outputs,
                                         struct oc_error *err);

#endif
