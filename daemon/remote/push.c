/* A push: what is not there yet is put, bytes first, the record that names them last.
 *
 * So a reader never sees a record whose bytes are still on their way. One push at a time;
 * nobody waits for it. A push that fails is dropped: the result is in the local cache,
 * and the next machine compiles once more. */
#include "remote/remote_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define PUSH_ARENA_CAP (128u << 20)

static int copy_member(struct push *p, const struct oc_remote_member *from,
                       struct oc_remote_member *to)
{
  *to = *from;
  to->file.path = NULL;
  to->name = oc_arena_strdup(&p->arena, from->name);
  to->kind = oc_arena_strdup(&p->arena, from->kind);
  if (from->file.fd >= 0)
    to->file.fd = fcntl(from->file.fd, F_DUPFD_CLOEXEC, 0);
  else
    to->data = oc_arena_memdup(&p->arena, from->data, (size_t)from->size);
  return to->name && to->kind && (to->file.fd >= 0 || to->data) ? 0 : OC_E_NOMEM;
}

/* The artifact alone, under the plan key: its report is each request's own. */
static int pack_plan(struct push *p)
{
  struct oc_remote_entry e = p->entry;
  struct oc_remote_member only[1];

  e.has_plan_key = false;
  e.members = only;
  e.n_members = 0;
  memcpy(e.key, p->entry.plan_key, OC_SHA256_LEN);
  for (size_t i = 0; i < p->entry.n_members && !e.n_members; i++)
    if (oc_streq(p->entry.members[i].kind, "artifact"))
      only[e.n_members++] = p->entry.members[i];
  return e.n_members ? remote_record_pack(&e, &p->plan_record) : 0;
}

struct push *push_new(struct oc_remote *r, const struct oc_remote_entry *e)
{
  struct push *p = calloc(1, sizeof(*p));
  int bad;

  if (!p)
    return NULL;
  p->remote = r;
  p->entry = *e;
  p->entry.n_members = 0;
  oc_arena_init(&p->arena, PUSH_ARENA_CAP);
  oc_buf_init(&p->record, REMOTE_RECORD_CAP);
  oc_buf_init(&p->plan_record, REMOTE_RECORD_CAP);
  p->entry.members = OC_NEW_N(&p->arena, struct oc_remote_member, e->n_members + 1);
  bad = !p->entry.members;
  for (size_t i = 0; i < e->n_members && !bad; i++) {
    if (!e->members[i].size)
      continue;
    bad = copy_member(p, &e->members[i], &p->entry.members[p->entry.n_members]);
    p->entry.n_members++;
  }
  bad = bad || remote_record_pack(&p->entry, &p->record) ||
        (e->has_plan_key && pack_plan(p));
  /* The facts belong to the caller; they are in the records now. */
  memset(&p->entry.facts, 0, sizeof(p->entry.facts));
  if (!bad)
    return p;
  push_free(p);
  return NULL;
}

void push_free(struct push *p)
{
  if (p->transfer)
    transfer_free(p->transfer);
  for (size_t i = 0; i < p->entry.n_members; i++)
    oc_close_fd(&p->entry.members[i].file.fd);
  oc_buf_clear(&p->record);
  oc_buf_clear(&p->plan_record);
  oc_arena_clear(&p->arena);
  free(p);
}

static void log_failure(const struct push *p, const char *why)
{
  struct oc_log_line line;

  oc_log_begin(&line, p->remote->o.log, OC_LOG_WARNING, "remote_not_put");
  oc_log_hex(&line, "key", p->entry.key, OC_SHA256_LEN);
  oc_log_str(&line, "reason", why);
  oc_log_end(&line);
}

static void finish(struct push *p, const struct transfer *bad)
{
  struct oc_remote *r = p->remote;

  if (bad)
    log_failure(p, bad->why);
  remote_lock(r);
  r->count.puts += !bad;
  r->count.puts_failed += bad != NULL;
  r->count.waiting_puts--;
  /* A server that says no to an upload may still be read. */
  if (bad && !bad->reached)
    oc_breaker_failed(&r->breaker, remote_now_ns());
  if (bad)
    remote_note_trouble(r, bad->trouble, bad->why);
  remote_tell_state(r);
  remote_unlock(r);
  r->push = NULL;
  push_free(p);
}

static void step(struct push *p);

static void put_done(struct transfer *t)
{
  struct push *p = t->owner;

  if (t->verdict != VERDICT_OK) {
    if (t->verdict == VERDICT_ABSENT)
      memcpy(t->why, "it answers with HTTP status 404",
             sizeof("it answers with HTTP status 404"));
    finish(p, t);
    return;
  }
  remote_lock(p->remote);
  p->remote->count.bytes_out += t->size;
  remote_unlock(p->remote);
  transfer_free(t);
  p->transfer = NULL;
  p->sending = false;
  p->at++;
  step(p);
}

static void head_done(struct transfer *t)
{
  struct push *p = t->owner;

  if (t->verdict == VERDICT_FAILED && !t->reached) {
    finish(p, t);
    return;
  }
  if (t->verdict == VERDICT_OK)
    p->at++;
  else
    p->sending = true; /* absent, or a server that knows no HEAD */
  transfer_free(t);
  p->transfer = NULL;
  step(p);
}

/* NULL without memory. */
static struct transfer *next_transfer(struct push *p)
{
  const struct oc_remote_entry *e = &p->entry;
  size_t record = p->at - e->n_members;
  const struct oc_buf *body = record ? &p->plan_record : &p->record;
  struct transfer *t;

  if (p->at < e->n_members) {
    const struct oc_remote_member *m = &e->members[p->at];

    t = transfer_new(p->remote, p->sending ? METHOD_PUT : METHOD_HEAD, "cas", m->sha256);
    if (t && p->sending)
      transfer_send(t, m->size, m->file.fd, m->data);
    return t;
  }
  p->sending = true;
  t = transfer_new(p->remote, METHOD_PUT, "ac", record ? e->plan_key : e->key);
  if (t)
    transfer_send(t, body->len, -1, body->data);
  return t;
}

static void step(struct push *p)
{
  static const struct transfer no_memory = { .reached = true, .why = "no memory" };
  size_t n_records = 1 + (p->plan_record.len > 0);

  if (p->at == p->entry.n_members + n_records) {
    finish(p, NULL);
    return;
  }
  p->transfer = next_transfer(p);
  if (!p->transfer)
    finish(p, &no_memory);
  else
    transfer_start(p->transfer, p->sending ? put_done : head_done, p);
}

void push_start(struct push *p)
{
  p->remote->push = p;
  step(p);
}
