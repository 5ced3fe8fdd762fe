/* The key, and what the cache says to it.
 *
 * A miss is told with its reasons at once, from the parts of the nearest stored entry,
 * while the job is still to be made: whoever waits minutes may want to know why. */
#include "server/server_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "key/key.h"

/* Stored entries that are compared, and differences that are told. */
#define CANDIDATES   8
#define MOST_REASONS 8

static void add_reason(struct request *r, const char *text)
{
  char **grown;

  if (!r || r->n_reasons == MOST_REASONS)
    return;
  grown = oc_arena_grow(&r->arena, r->reasons, r->n_reasons, r->n_reasons + 1,
                        sizeof(char *));
  if (!grown)
    return;
  r->reasons = grown;
  r->reasons[r->n_reasons] = oc_arena_strdup(&r->arena, text);
  r->n_reasons += r->reasons[r->n_reasons] != NULL;
}

static int fill_request(struct order *o, struct oc_key_request *req)
{
  struct oc_key_file *files = OC_NEW_N(&o->arena, struct oc_key_file, o->n_files + 1);
  struct oc_key_external *ext =
      OC_NEW_N(&o->arena, struct oc_key_external, o->n_external + 1);

  if (!files || !ext ||
      backend_identity(o->srv, o->backend, &o->arena, &req->identity, &req->n_identity))
    return OC_E_NOMEM;
  for (size_t i = 0; i < o->n_files; i++) {
    files[i].flag = o->files[i].flag;
    memcpy(files[i].sha256, o->files[i].sha256, OC_SHA256_LEN);
    if (o->files[i].list) {
      files[i].bytes = o->files[i].bytes ? o->files[i].bytes : "";
      files[i].len = o->files[i].len;
    }
  }
  for (size_t i = 0; i < o->n_external; i++) {
    ext[i].name = o->external[i].name;
    memcpy(ext[i].sha256, o->external[i].sha256, OC_SHA256_LEN);
  }
  req->flags = &o->flags;
  req->backend = o->backend;
  req->strict_lists = o->strict_lists;
  req->files = files;
  req->n_files = o->n_files;
  req->external = ext;
  req->n_external = o->n_external;
  return 0;
}

static int build_key(struct order *o, struct oc_key_parts *parts, struct oc_error *err)
{
  struct oc_key_request req = { 0 };
  int r = fill_request(o, &req);

  oc_key_parts_init(parts, &o->arena);
  if (r)
    return oc_error_set(err, r, "no memory for a key");
  r = oc_key_build(&req, parts, err);
  if (r)
    return r;
  if (oc_key_digest(parts, o->key) || oc_key_options_digest(parts, o->options) ||
      oc_key_parts_pack(parts, &o->parts))
    return oc_error_set(err, OC_E_NOMEM, "no memory for a key");
  return 0;
}

/* What differs from the nearest stored entry. */
static void explain_miss(struct order *o, struct request *r,
                         const struct oc_key_parts *parts)
{
  struct oc_cache_candidate *c;
  struct oc_key_blob blobs[CANDIDATES];
  struct oc_key_difference *d;
  size_t n = 0, index, n_d = 0;

  if (!r)
    return;
  if (oc_cache_candidates(o->srv->cache, o->model, o->options, CANDIDATES, &o->arena, &c,
                          &n) < 0)
    n = 0;
  for (size_t i = 0; i < n; i++)
    blobs[i] = (struct oc_key_blob){ c[i].parts, c[i].parts_len };
  if (!n || oc_key_nearest(parts, blobs, n, &o->arena, &index, &d, &n_d) != 1) {
    add_reason(r, "nothing like it is stored");
    return;
  }
  for (size_t i = 0; i < n_d; i++) {
    struct oc_buf text;

    oc_buf_init(&text, 4096);
    if (!oc_key_difference_text(&d[i], &text))
      add_reason(r, oc_buf_str(&text));
    oc_buf_clear(&text);
  }
  if (!n_d)
    add_reason(r, "its entry was dropped");
}

static void log_miss(const struct order *o, const struct request *r)
{
  struct oc_log_line l;

  oc_log_begin(&l, o->srv->log, OC_LOG_INFO, "miss");
  oc_log_u64(&l, "job", o->job);
  oc_log_hex(&l, "key", o->key, OC_SHA256_LEN);
  for (size_t i = 0; r && i < r->n_reasons; i++)
    oc_log_str(&l, "reason", r->reasons[i]);
  oc_log_end(&l);
}

/* Not in the cache: flow decides who compiles. */
static void go_on(struct order *o, const uint8_t *key)
{
  struct oc_server *s = o->srv;
  uint64_t job = o->job;

  o->keyed = true;
  if (oc_flow_keyed(s->flow, server_now_ns(), job, key) == job)
    oc_counter_add(&s->count, key ? OC_COUNT_MISSES : OC_COUNT_UNCACHED, 1);
}

void lookup_uncached(struct order *o, const char *why)
{
  struct request *r = server_request(o->srv, &o->asker);

  o->uncached = oc_arena_strdup(&o->arena, why);
  if (!o->uncached)
    o->uncached = "no memory for a key";
  add_reason(r, o->uncached);
  order_log(o, OC_LOG_INFO, "uncached", o->uncached);
  if (o->want == WANT_LOOKUP) {
    o->keyed = true;
    if (r)
      answer_lookup(o, r, false);
    oc_flow_hit(o->srv->flow, server_now_ns(), o->job);
    return;
  }
  go_on(o, NULL);
}

/* True when this order has no key. */
static bool has_no_key(struct order *o)
{
  const char *flag = oc_flags_uncached(&o->flags);
  char text[160];

  if (o->external_unsure) {
    lookup_uncached(o, "the external data of this model are not known");
    return true;
  }
  if (!flag)
    return false;
  snprintf(text, sizeof(text), "a request with '--%.80s' is not cached", flag);
  lookup_uncached(o, text);
  return true;
}

static void remember_model(struct order *o)
{
  for (size_t i = 0; i < o->n_files; i++)
    if (oc_streq(o->files[i].flag, "model"))
      memcpy(o->model, o->files[i].sha256, sizeof(o->model));
}

static void remember_inputs(struct order *o)
{
  const char **names = OC_NEW_N(&o->arena, const char *, o->n_external + 1);

  if (!names || !oc_streq(oc_flags_get(&o->flags, "framework"), "5"))
    return;
  for (size_t i = 0; i < o->n_external; i++)
    names[i] = o->external[i].name;
  oc_cache_inputs_put(o->srv->cache, o->model, names, o->n_external);
}

static void on_miss(struct order *o, struct request *r, const struct oc_key_parts *parts,
                    enum oc_cache_miss miss)
{
  if (miss == OC_CACHE_MISS_ABSENT)
    explain_miss(o, r, parts);
  else
    add_reason(r, oc_cache_miss_text(miss));
  log_miss(o, r);
  if (o->want == WANT_LOOKUP) {
    o->keyed = true;
    if (r)
      answer_lookup(o, r, false);
    oc_flow_hit(o->srv->flow, server_now_ns(), o->job);
    return;
  }
  remember_inputs(o);
  go_on(o, o->key);
}

static bool ask_cache(struct order *o, struct request *r, enum oc_cache_miss *miss)
{
  struct oc_cache_hit hit;

  if (o->want == WANT_LOOKUP) {
    if (oc_cache_has(o->srv->cache, o->key, miss) != 1)
      return false;
    if (r)
      answer_lookup(o, r, true);
    return true;
  }
  if (oc_cache_lookup(o->srv->cache, o->key, o->uid, &hit, miss) != 1)
    return false;
  if (r)
    answer_hit(o, r, &hit);
  oc_cache_hit_clear(&hit);
  return true;
}

void lookup_start(struct order *o)
{
  struct request *r = server_request(o->srv, &o->asker);
  enum oc_cache_miss miss = OC_CACHE_MISS_ABSENT;
  struct oc_key_parts parts;
  struct oc_error err = { 0 };

  server_stop_point(o->srv, o, "after-digest");
  remember_model(o);
  if (has_no_key(o))
    return;
  if (build_key(o, &parts, &err)) {
    lookup_uncached(o, err.msg);
    return;
  }
  if (!ask_cache(o, r, &miss)) {
    server_stop_point(o->srv, o, "after-lookup");
    on_miss(o, r, &parts, miss);
    return;
  }
  o->keyed = true;
  oc_flow_hit(o->srv->flow, server_now_ns(), o->job);
}
