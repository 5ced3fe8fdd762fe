/* Why a request missed: the parts in which it differs from the nearest stored entry.
 *
 * The reasons go with the answer, into the log and into counters; for "omcc why JOB" the
 * last requests are remembered as packed answers, in a ring of fixed size. For a stored
 * key the same is computed anew against the other entries. */
#include "server/server_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "key/key.h"

/* Stored entries that are compared, and differences that are told. */
#define CANDIDATES       8
#define MOST_REASONS     8
#define MOST_DIFFERENCES 64
/* One remembered answer. */
#define RECENT_BYTES (32u << 10)

void why_add_reason(struct request *r, const char *text)
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

static Omcc__V1__Difference *difference_message(const struct oc_key_difference *d,
                                                struct oc_arena *arena)
{
  static const char *const kinds[] = {
    [OC_KEY_VALUE] = "value", [OC_KEY_CONTENT] = "content", [OC_KEY_DIGEST] = "digest"
  };
  Omcc__V1__Difference *m = OC_NEW(arena, Omcc__V1__Difference);

  if (!m)
    return NULL;
  omcc__v1__difference__init(m);
  m->kind = (char *)kinds[d->kind];
  m->has_then = d->then != NULL;
  m->has_now = d->now != NULL;
  m->name = oc_arena_strdup(arena, d->name);
  m->then = oc_arena_strdup(arena, d->then ? d->then : "");
  m->now = oc_arena_strdup(arena, d->now ? d->now : "");
  return m->name && m->then && m->now ? m : NULL;
}

void why_messages(const struct oc_key_difference *d, size_t n, struct oc_arena *arena,
                  Omcc__V1__Difference ***ret, size_t *ret_n)
{
  size_t most = n < MOST_DIFFERENCES ? n : MOST_DIFFERENCES;
  Omcc__V1__Difference **list = OC_NEW_N(arena, Omcc__V1__Difference *, most + 1);

  for (size_t i = 0; list && i < most; i++) {
    list[*ret_n] = difference_message(&d[i], arena);
    *ret_n += list[*ret_n] != NULL;
  }
  *ret = list;
}

/* Which stored entries come into question. */
struct scope {
  const uint8_t *model, *options; /* digests that make an entry near */
  const uint8_t *self;            /* key of the entry that is left out, NULL: none */
  int64_t uid;                    /* whose entries, -1: everybody's */
};

/* The nearest of the stored entries: 1 with its differences, 0 none. */
static int nearest(struct oc_server *s, const struct oc_key_parts *now,
                   const struct scope *in, struct oc_arena *arena,
                   uint8_t ret_key[OC_SHA256_LEN], struct oc_key_difference **ret,
                   size_t *ret_n)
{
  struct oc_cache_candidate *c;
  struct oc_key_blob blobs[CANDIDATES + 1];
  size_t from[CANDIDATES + 1], n = 0, kept = 0, index;

  if (oc_cache_candidates(s->cache, in->model, in->options, in->uid, CANDIDATES + 1,
                          arena, &c, &n) < 0)
    n = 0;
  for (size_t i = 0; i < n && kept < CANDIDATES + 1; i++) {
    if (in->self && !memcmp(c[i].key, in->self, OC_SHA256_LEN))
      continue;
    from[kept] = i;
    blobs[kept++] = (struct oc_key_blob){ c[i].parts, c[i].parts_len };
  }
  if (!kept || oc_key_nearest(now, blobs, kept, arena, &index, ret, ret_n) != 1)
    return 0;
  memcpy(ret_key, c[from[index]].key, OC_SHA256_LEN);
  return 1;
}

/* One counter per sort of the first difference. */
static enum oc_counter counter_of(const struct oc_key_difference *d)
{
  if (oc_streq(d->name, "model") || oc_streq(d->name, "weight") ||
      oc_starts_with(d->name, "external:"))
    return OC_COUNT_MISSED_MODEL;
  if (oc_streq(d->name, "soc_version"))
    return OC_COUNT_MISSED_SOC;
  if (oc_starts_with(d->name, "backend") || oc_streq(d->name, "format"))
    return OC_COUNT_MISSED_BACKEND;
  return d->kind == OC_KEY_VALUE ? OC_COUNT_MISSED_OPTION : OC_COUNT_MISSED_LIST;
}

void why_missed(struct order *o, struct request *r, const struct oc_key_parts *parts)
{
  struct oc_server *s = o->srv;
  struct oc_key_difference *d;
  struct session *c;
  struct scope in;
  size_t n = 0;

  if (!r)
    return;
  c = server_session(s, r->session);
  in = (struct scope){ o->model, o->options, NULL,
                       c ? session_scope(c) : (int64_t)o->uid };
  if (!nearest(s, parts, &in, &o->arena, r->nearest, &d, &n)) {
    why_add_reason(r, "nothing like it is stored");
    oc_counter_add(&s->count, OC_COUNT_MISSED_NEW, o->want == WANT_COMPILE);
    return;
  }
  r->has_nearest = true;
  why_messages(d, n, &r->arena, &r->differences, &r->n_differences);
  for (size_t i = 0; i < n; i++) {
    struct oc_buf text;

    oc_buf_init(&text, 4096);
    if (!oc_key_difference_text(&d[i], &text))
      why_add_reason(r, oc_buf_str(&text));
    oc_buf_clear(&text);
  }
  if (!n)
    why_add_reason(r, "its entry was dropped");
  oc_counter_add(&s->count, n ? counter_of(&d[0]) : OC_COUNT_MISSED_DROPPED,
                 o->want == WANT_COMPILE);
}

/* ---------------------------------------------------------------- the last requests */

void why_remember(struct order *o, const struct request *r, const char *how)
{
  struct recent *slot = &o->srv->recent[o->job % OC_RECENT_JOBS];
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  struct oc_buf out, text;

  free(slot->bytes);
  *slot = (struct recent){ .job = o->job, .uid = o->uid, .keyed = !o->uncached };
  memcpy(slot->key, o->key, sizeof(slot->key));
  oc_buf_init(&text, RECENT_BYTES);
  oc_buf_puts(&text, how);
  for (size_t i = 0; r && i < r->n_reasons; i++)
    oc_buf_printf(&text, "%s%s", i ? "; " : ": ", r->reasons[i]);
  a.text = (char *)oc_buf_str(&text);
  if (r) {
    a.differences = r->differences;
    a.n_differences = r->n_differences;
    a.nearest.data = (uint8_t *)r->nearest;
    a.nearest.len = r->has_nearest ? sizeof(r->nearest) : 0;
  }
  oc_buf_init(&out, RECENT_BYTES);
  if (oc_message_pack(&a.base, &out)) {
    /* Too long with all its lines: the sentences say enough. */
    a.n_differences = 0;
    oc_buf_reset(&out);
    oc_message_pack(&a.base, &out);
  }
  slot->bytes = oc_buf_take(&out, &slot->len);
  oc_buf_clear(&out);
  oc_buf_clear(&text);
}

void why_forget_all(struct oc_server *s)
{
  for (size_t i = 0; i < OC_RECENT_JOBS; i++)
    free(s->recent[i].bytes);
}

/* ---------------------------------------------------------------- the question */

static void send_answer(struct session *c, uint64_t id, Omcc__V1__CacheAnswer *a)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;

  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_CACHE_ANSWER;
  m.cache_answer = a;
  session_send(c, &m, NULL, 0);
}

/* What is remembered of a job that this user may ask about, or NULL. */
static const struct recent *recent_job(const struct session *c, uint64_t job)
{
  const struct recent *slot = &c->srv->recent[job % OC_RECENT_JOBS];
  bool mine = session_scope(c) == OC_CACHE_ANYONE || slot->uid == c->uid;

  return slot->bytes && slot->job == job && mine ? slot : NULL;
}

bool why_job_key(const struct session *c, uint64_t job, uint8_t ret[OC_SHA256_LEN])
{
  const struct recent *slot = recent_job(c, job);

  if (!slot || !slot->keyed)
    return false;
  memcpy(ret, slot->key, OC_SHA256_LEN);
  return true;
}

static bool answer_recent(struct session *c, uint64_t id, uint64_t job)
{
  const struct recent *slot = recent_job(c, job);
  struct oc_arena arena;
  ProtobufCMessage *m;

  if (!slot)
    return false;
  oc_arena_init(&arena, oc_message_cap(slot->len));
  if (!oc_message_unpack(&omcc__v1__cache_answer__descriptor, slot->bytes, slot->len,
                         &arena, &m, NULL))
    send_answer(c, id, (Omcc__V1__CacheAnswer *)m);
  oc_arena_clear(&arena);
  return true;
}

static void answer_stored(struct session *c, uint64_t id, const uint8_t *key)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  uint8_t model[OC_SHA256_LEN], options[OC_SHA256_LEN], near[OC_SHA256_LEN];
  struct oc_cache_candidate mine;
  struct oc_key_difference *d;
  struct oc_key_parts parts;
  struct oc_arena arena;
  const struct scope in = { model, options, key, session_scope(c) };
  size_t n = 0;

  oc_arena_init(&arena, 32u << 20);
  oc_key_parts_init(&parts, &arena);
  a.text = (char *)"stored";
  if (oc_cache_parts(c->srv->cache, key, &arena, &mine, model, options) == 1 &&
      !oc_key_parts_unpack(mine.parts, mine.parts_len, &parts, NULL) &&
      nearest(c->srv, &parts, &in, &arena, near, &d, &n)) {
    why_messages(d, n, &arena, &a.differences, &a.n_differences);
    a.nearest.data = near;
    a.nearest.len = sizeof(near);
  }
  send_answer(c, id, &a);
  oc_arena_clear(&arena);
}

void why_answer(struct session *c, uint64_t id, const char *what)
{
  Omcc__V1__CacheAnswer none = OMCC__V1__CACHE_ANSWER__INIT;
  uint8_t key[OC_SHA256_LEN];
  uint64_t job;

  /* Job numbers have digits only; of a key that looks like one the number wins. */
  if (oc_str_to_u64(oc_str_of(what), &job) && answer_recent(c, id, job))
    return;
  if (oc_cache_find_key(c->srv->cache, what, key) == 1 &&
      oc_cache_may_see(c->srv->cache, key, session_scope(c))) {
    answer_stored(c, id, key);
    return;
  }
  none.status = OC_STATUS_DIFFERS;
  none.message = (char *)"no recent job has this number and no stored entry this key";
  send_answer(c, id, &none);
}
