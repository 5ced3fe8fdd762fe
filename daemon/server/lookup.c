/* The key, and what the cache says to it.
 *
 * A miss is told with its reasons at once, from the parts of the nearest stored entry,
 * while the job is still to be made: whoever waits minutes may want to know why. */
#include "server/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "key/key.h"

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
  if (oc_flow_keyed(s->flow, server_now_ns(), job, key) != job || o->looking)
    return; /* another one's, or not known yet */
  o->counted_miss = true;
  oc_counter_add(&s->count, key ? OC_COUNT_MISSES : OC_COUNT_UNCACHED, 1);
}

void lookup_uncached(struct order *o, const char *why)
{
  struct request *r = server_request(o->srv, &o->asker);

  o->uncached = oc_arena_strdup(&o->arena, why);
  if (!o->uncached)
    o->uncached = "no memory for a key";
  why_add_reason(r, o->uncached);
  why_remember(o, r, "not cached");
  order_log(o, OC_LOG_INFO, "uncached", o->uncached);
  if (order_only_asks(o))
    lookup_end(o, false, "");
  else
    go_on(o, NULL);
}

/* True when this order has no key. */
static bool has_no_key(struct order *o)
{
  const char *flag = oc_flags_uncached(&o->flags);
  char text[300];

  if (o->external_unsure) {
    lookup_uncached(o, "the external data of this model are not known");
    return true;
  }
  if (flag)
    snprintf(text, sizeof(text), "a request with '--%.80s' is not cached", flag);
  else if (!folders_have_no_key(o, server_request(o->srv, &o->asker), text, sizeof(text)))
    return false;
  lookup_uncached(o, text);
  return true;
}

void lookup_unseen(struct order *o)
{
  if (has_no_key(o))
    return;
  if (remote_may_look(o))
    oc_flow_scout(o->srv->flow, server_now_ns(), o->job, true);
  else
    lookup_uncached(o,
                    o->srv->remote
                        ? "this model has not been seen before, and no worker is free to "
                          "look which files it names: the remote cache was not asked"
                        : "this model has not been seen before");
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

  if (!names || !oc_streq(oc_flags_get(&o->flags, "framework"), OC_FRAMEWORK_ONNX))
    return;
  for (size_t i = 0; i < o->n_external; i++)
    names[i] = o->external[i].name;
  oc_cache_inputs_put(o->srv->cache, o->model, names, o->n_external);
}

static void on_miss(struct order *o, struct request *r, enum oc_cache_miss miss)
{
  struct oc_error err = { 0 };

  if (request_key_parts(o, &err)) {
    lookup_uncached(o, err.msg);
    return;
  }
  if (miss == OC_CACHE_MISS_ABSENT) {
    why_missed(o, r, o->key_parts);
  } else {
    why_add_reason(r, oc_cache_miss_text(miss));
    oc_counter_add(&o->srv->count, OC_COUNT_MISSED_DAMAGED, 1);
  }
  why_remember(o, r, "missed");
  log_miss(o, r);
  if (!order_only_asks(o)) {
    remember_inputs(o);
    go_on(o, o->key);
    return;
  }
  if (o->external_looked)
    remember_inputs(o);
  o->keyed = true;
  if (!remote_ask(o))
    lookup_end(o, false, "");
}

/* ---------------------------------------------------------------- hits */

static void give(struct order *o, struct oc_cache_hit *hit)
{
  struct request *r = server_request(o->srv, &o->asker);

  o->keyed = true;
  why_remember(o, r, "hit");
  if (r)
    answer_hit(o, r, hit);
  oc_cache_hit_clear(hit);
  oc_flow_hit(o->srv->flow, server_now_ns(), o->job);
}

/* The first hit since the daemon was started reads every byte, on a thread. */
struct proof {
  struct task task;
  struct oc_cache_hit hit;
};

static void run_proof(struct task *t)
{
  struct proof *p = (struct proof *)t;

  t->code = oc_cache_prove(t->order->srv->cache, t->order->key, &p->hit, &t->cancel);
}

static void proof_done(struct task *t)
{
  struct proof *p = (struct proof *)t;
  struct order *o = t->order;

  if (o->forgotten) {
    oc_cache_hit_clear(&p->hit);
  } else if (t->code == 1) {
    give(o, &p->hit);
  } else {
    oc_cache_hit_clear(&p->hit);
    o->keyed = false;
    on_miss(o, server_request(o->srv, &o->asker), OC_CACHE_MISS_DAMAGED);
  }
  free(p);
}

static void start_proof(struct order *o, struct oc_cache_hit *hit)
{
  struct proof *p = calloc(1, sizeof(*p));

  if (!p) {
    oc_cache_hit_clear(hit);
    on_miss(o, server_request(o->srv, &o->asker), OC_CACHE_MISS_BUSY);
    return;
  }
  p->task = (struct task){ .uid = o->uid, .run = run_proof, .done = proof_done };
  p->task.order = o;
  p->hit = *hit;
  o->keyed = true; /* what else becomes known must not look it up again */
  digester_add(o->srv, &p->task);
}

/* Cached or not, and nothing else. */
static void look(struct order *o)
{
  struct request *r = server_request(o->srv, &o->asker);
  enum oc_cache_miss miss = OC_CACHE_MISS_ABSENT;

  if (oc_cache_has(o->srv->cache, o->key, &miss) != 1) {
    on_miss(o, r, miss);
    return;
  }
  why_remember(o, r, "cached");
  lookup_end(o, true, "local");
}

void lookup_start(struct order *o)
{
  enum oc_cache_miss miss = OC_CACHE_MISS_ABSENT;
  struct oc_cache_hit hit;
  struct oc_error err = { 0 };

  server_stop_point(o->srv, o, "after-digest");
  remember_model(o);
  if (has_no_key(o))
    return;
  if (request_key(o, &err)) {
    lookup_uncached(o, err.msg);
  } else if (o->want == WANT_LOOKUP) {
    look(o);
  } else if (oc_cache_lookup(o->srv->cache, o->key, o->uid, &hit, &miss) != 1) {
    server_stop_point(o->srv, o, "after-lookup");
    on_miss(o, server_request(o->srv, &o->asker), miss);
  } else if (hit.n_unproven) {
    start_proof(o, &hit);
  } else {
    give(o, &hit);
  }
}
