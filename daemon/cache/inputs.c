/* Inputs lists: which further files a model needs, known by the model's digest, so that a
 * hit needs no worker to read the model. Stored as names ended by NULs. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cache/cache_internal.h"

int oc_cache_inputs_get(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN],
                        struct oc_arena *arena, const char *const **ret, size_t *ret_n)
{
  size_t n = 0;

  if (atomic_load(&c->broken))
    return 0;
  auto_reset sqlite3_stmt *s = oc_sql_use(&c->reader, OC_R_INPUTS_GET);
  oc_sql_bind_digest(s, 1, model);
  int rc = sqlite3_step(s);
  if (rc != SQLITE_ROW) {
    if (rc != SQLITE_DONE)
      oc_cache_sql_failed(c, &c->reader, NULL);
    return 0;
  }
  size_t len = (size_t)sqlite3_column_bytes(s, 0);
  const void *blob = sqlite3_column_blob(s, 0);
  char *text = oc_arena_memdup(arena, blob ? blob : "", len);
  if (!text || (len && text[len - 1] != '\0'))
    return 0;
  for (size_t i = 0; i < len; i++)
    n += text[i] == '\0';
  const char **names = OC_NEW_N(arena, const char *, n + 1);
  if (!names)
    return 0;
  for (size_t i = 0; i < n; i++, text += strlen(text) + 1)
    names[i] = text;
  *ret = names;
  *ret_n = n;
  return 1;
}

void oc_cache_inputs_put(struct oc_cache *c, const uint8_t model[OC_SHA256_LEN],
                         const char *const *names, size_t n)
{
  size_t len = 0, at = 0;
  struct oc_cache_job *job = oc_cache_job_new(OC_JOB_INPUTS);

  for (size_t i = 0; i < n; i++)
    len += strlen(names[i]) + 1;
  char *text = job ? oc_arena_alloc(&job->arena, len) : NULL;
  if (!text || n > OC_MAX_EXTERNAL_FILES) {
    oc_cache_job_free(job);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    size_t piece = strlen(names[i]) + 1;
    memcpy(text + at, names[i], piece);
    at += piece;
  }
  memcpy(job->key, model, OC_SHA256_LEN);
  job->names = text;
  job->names_len = len;
  if (!oc_cache_enqueue(c, job))
    oc_cache_job_free(job);
}
