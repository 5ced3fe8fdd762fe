/* Two finished jobs side by side: the stored report of each, and in what their requests
 * differ. Which op differs is for the client to say; the daemon reads no report. */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "key/key.h"

struct compare {
  struct task task;
  uint64_t session, id;
  uint8_t key[2][OC_SHA256_LEN];
  struct oc_cache_hit hit[2];
};

static struct oc_cache_member *report_of(struct oc_cache_hit *h)
{
  for (size_t i = 0; i < h->n_members; i++)
    if (oc_streq(h->members[i].kind, "report"))
      return &h->members[i];
  return NULL;
}

/* On a thread: the bytes of both reports are what was stored. */
static void run_compare(struct task *t)
{
  struct compare *q = (struct compare *)t;

  t->code = 1;
  for (unsigned i = 0; i < 2 && t->code == 1; i++) {
    struct oc_cache_member *m = report_of(&q->hit[i]);

    if (m->fd >= 0)
      t->code = oc_cache_prove_member(t->order->srv->cache, m, &t->cancel);
  }
}

static void add_report(Omcc__V1__Member *m, const struct oc_cache_member *from, int *fds,
                       size_t *n_fds)
{
  omcc__v1__member__init(m);
  m->name = (char *)"report";
  m->kind = (char *)"report";
  m->size = from->size;
  if (from->fd >= 0) {
    m->where_case = OMCC__V1__MEMBER__WHERE_FD;
    m->fd = (uint32_t)*n_fds;
    fds[(*n_fds)++] = from->fd;
  } else {
    m->where_case = OMCC__V1__MEMBER__WHERE_INLINE;
    m->inline_.data = (uint8_t *)from->data;
    m->inline_.len = from->size;
  }
}

/* In what B differs from A; nothing when an entry went away meanwhile. */
static void add_differences(const struct compare *q, struct oc_cache *cache,
                            struct oc_arena *arena, Omcc__V1__CacheAnswer *a)
{
  uint8_t model[OC_SHA256_LEN], options[OC_SHA256_LEN];
  struct oc_key_parts parts[2];
  struct oc_key_difference *d;
  size_t n = 0;

  for (unsigned i = 0; i < 2; i++) {
    struct oc_cache_candidate c;

    oc_key_parts_init(&parts[i], arena);
    if (oc_cache_parts(cache, q->key[i], arena, &c, model, options) != 1 ||
        oc_key_parts_unpack(c.parts, c.parts_len, &parts[i], NULL))
      return;
  }
  if (!oc_key_compare(&parts[0], &parts[1], arena, &d, &n))
    why_messages(d, n, arena, &a->differences, &a->n_differences);
}

static void deliver(struct session *c, struct compare *q)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  Omcc__V1__Member member[2], *members[2] = { &member[0], &member[1] };
  struct oc_arena arena;
  size_t n_fds = 0;
  int fds[2];

  oc_arena_init(&arena, 32u << 20);
  for (unsigned i = 0; i < 2; i++)
    add_report(members[i], report_of(&q->hit[i]), fds, &n_fds);
  a.members = members;
  a.n_members = 2;
  add_differences(q, c->srv->cache, &arena, &a);
  care_send(c, q->id, &a, fds, n_fds);
  oc_arena_clear(&arena);
}

static void compare_done(struct task *t)
{
  struct compare *q = (struct compare *)t;
  struct session *c = server_session(t->order->srv, q->session);

  if (c && t->code == 1)
    deliver(c, q);
  else if (c)
    care_refuse(c, q->id, OC_STATUS_STORE, "a report is damaged: compile once more");
  for (unsigned i = 0; i < 2; i++)
    oc_cache_hit_clear(&q->hit[i]);
  t->order->forgotten = true;
  free(q);
}

/* A job number or the beginning of a key. False after a refusal. */
static bool find(struct session *c, uint64_t id, const char *what,
                 uint8_t ret[OC_SHA256_LEN])
{
  uint64_t job;

  if (oc_str_to_u64(oc_str_of(what), &job) && why_job_key(c, job, ret))
    return true;
  int n = oc_cache_find_key(c->srv->cache, what, ret);
  if (n == 1 && oc_cache_may_see(c->srv->cache, ret, session_scope(c)))
    return true;
  care_refuse(c, id, OC_STATUS_REQUEST,
              n == 2 ? "several entries begin like this, give more digits"
                     : "no recent job has this number and no stored entry this key");
  return false;
}

static bool look(struct session *c, struct compare *q, unsigned side)
{
  if (!oc_cache_show(c->srv->cache, q->key[side], &q->hit[side])) {
    care_refuse(c, q->id, OC_STATUS_DIFFERS,
                "the result of a job is not stored (any more)");
    return false;
  }
  if (report_of(&q->hit[side]))
    return true;
  care_refuse(c, q->id, OC_STATUS_REQUEST, "a result was stored without a report");
  return false;
}

static bool prepare(struct session *c, struct compare *q, const char *a, const char *b)
{
  return find(c, q->id, a, q->key[0]) && find(c, q->id, b, q->key[1]) && look(c, q, 0) &&
         look(c, q, 1);
}

void compare_answer(struct session *c, uint64_t id, const char *a, const char *b)
{
  struct compare *q = calloc(1, sizeof(*q));
  struct order *o = order_new(c->srv, c->uid);

  if (q && o) {
    q->session = c->id;
    q->id = id;
    q->task = (struct task){ .uid = c->uid, .run = run_compare, .done = compare_done };
    q->task.order = o;
    if (prepare(c, q, a, b)) {
      digester_add(c->srv, &q->task);
      return;
    }
    for (unsigned i = 0; i < 2; i++)
      oc_cache_hit_clear(&q->hit[i]);
  } else {
    care_refuse(c, id, OC_STATUS_DAEMON, "the daemon is short of memory");
  }
  free(q);
  if (o) {
    o->forgotten = true;
    order_maybe_free(o);
  }
}
