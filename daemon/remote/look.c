/* A look: the record under the key, then all bytes that it names, side by side.
 *
 * Nothing is given out before every digest is right. An entry whose bytes are not all
 * there (a server may have dropped some) is absent. The parts of the key are not fetched:
 * who asks for a key has them. */
#include "remote/remote_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/str.h"

/* Record, its messages in memory, small members: bounded by the caps of each. */
#define ENTRY_ARENA_CAP (160u << 20)

struct look *look_new(struct oc_remote *r, const uint8_t key[OC_SHA256_LEN],
                      uint64_t ticket)
{
  struct look *l = calloc(1, sizeof(*l));

  if (!l)
    return NULL;
  l->outcome = calloc(1, sizeof(*l->outcome));
  if (!l->outcome) {
    free(l);
    return NULL;
  }
  l->remote = r;
  l->ticket = ticket;
  memcpy(l->key, key, OC_SHA256_LEN);
  oc_arena_init(&l->outcome->arena, ENTRY_ARENA_CAP);
  l->outcome->ticket = ticket;
  l->outcome->drop_file = r->o.drop_file;
  l->outcome->ctx = r->o.ctx;
  return l;
}

static void stop_transfers(struct look *l)
{
  if (l->record)
    transfer_free(l->record);
  l->record = NULL;
  for (size_t i = 0; i < REMOTE_MOST_MEMBERS; i++) {
    if (l->blobs[i])
      transfer_free(l->blobs[i]);
    l->blobs[i] = NULL;
  }
  l->n_blobs = 0;
}

void look_free(struct look *l)
{
  stop_transfers(l);
  if (l->outcome)
    oc_remote_outcome_free(l->outcome);
  free(l);
}

static void unlink_look(struct look *l)
{
  if (l->prev)
    l->prev->next = l->next;
  else
    l->remote->looks = l->next;
  if (l->next)
    l->next->prev = l->prev;
}

static void count_end(struct oc_remote *r, enum oc_remote_what what,
                      enum oc_remote_trouble trouble)
{
  r->count.hits += what == OC_REMOTE_FOUND;
  r->count.misses += what == OC_REMOTE_ABSENT;
  r->count.failures += what == OC_REMOTE_FAILED;
  r->count.wrong_bytes += trouble == OC_REMOTE_WRONG;
}

static void finish(struct look *l, enum oc_remote_what what,
                   enum oc_remote_trouble trouble, const char *why)
{
  struct oc_remote *r = l->remote;
  struct oc_remote_outcome *o = OC_STEAL(l->outcome);
  bool answered = what != OC_REMOTE_FAILED || trouble == OC_REMOTE_FINE;

  o->what = what;
  o->trouble = trouble;
  snprintf(o->why, sizeof(o->why), "%s", why);
  remote_lock(r);
  oc_breaker_leave(&r->breaker, &l->held, remote_now_ns(),
                   answered ? OC_BREAKER_ANSWERED : OC_BREAKER_FAILED);
  count_end(r, what, trouble);
  remote_note_trouble(r, answered ? OC_REMOTE_FINE : trouble, answered ? "" : why);
  remote_tell_state(r);
  remote_unlock(r);
  remote_send(r, o);
  unlink_look(l);
  look_free(l);
}

void look_fail(struct look *l, enum oc_remote_trouble trouble, const char *why)
{
  finish(l, OC_REMOTE_FAILED, trouble, why);
}

void look_drop(struct look *l)
{
  struct oc_remote *r = l->remote;

  remote_lock(r);
  oc_breaker_leave(&r->breaker, &l->held, remote_now_ns(), OC_BREAKER_DROPPED);
  remote_unlock(r);
  unlink_look(l);
  look_free(l);
}

void look_release(struct look *l)
{
  struct oc_remote_outcome *o = calloc(1, sizeof(*o));

  if (!o) {
    look_fail(l, OC_REMOTE_FINE, "no memory");
    return;
  }
  o->what = OC_REMOTE_SLOW;
  o->ticket = l->ticket;
  remote_lock(l->remote);
  oc_breaker_release(&l->remote->breaker, &l->held, remote_now_ns());
  remote_unlock(l->remote);
  remote_send(l->remote, o);
}

/* ---------------------------------------------------------------- bytes */

static void failed_transfer(struct look *l, const struct transfer *t)
{
  char why[sizeof(t->why)];
  enum oc_remote_trouble trouble = t->trouble;

  memcpy(why, t->why, sizeof(why));
  if (t->verdict == VERDICT_ABSENT)
    finish(l, OC_REMOTE_ABSENT, OC_REMOTE_FINE, "a part of the entry is gone");
  else
    look_fail(l, trouble, why);
}

static void log_wrong(const struct look *l, const struct oc_remote_member *m)
{
  struct oc_log_line line;

  oc_log_begin(&line, l->remote->o.log, OC_LOG_WARNING, "remote_wrong_bytes");
  oc_log_hex(&line, "key", l->key, OC_SHA256_LEN);
  oc_log_hex(&line, "object", m->sha256, OC_SHA256_LEN);
  oc_log_end(&line);
}

static void blob_done(struct transfer *t)
{
  struct look *l = t->owner;
  struct oc_remote_entry *e = &l->outcome->entry;
  size_t i = 0;

  while (l->blobs[i] != t)
    i++;
  if (t->verdict != VERDICT_OK) {
    if (t->verdict == VERDICT_WRONG)
      log_wrong(l, &e->members[i]);
    failed_transfer(l, t);
    return;
  }
  if (!l->ask && e->members[i].file.fd < 0) {
    e->members[i].data =
        oc_arena_memdup(&l->outcome->arena, t->body.data, (size_t)t->size);
    if (!e->members[i].data) {
      look_fail(l, OC_REMOTE_FINE, "no memory for an entry");
      return;
    }
  }
  remote_lock(l->remote);
  l->remote->count.bytes_in += t->bytes;
  remote_unlock(l->remote);
  transfer_free(t);
  l->blobs[i] = NULL;
  if (--l->n_blobs == 0)
    finish(l, OC_REMOTE_FOUND, OC_REMOTE_FINE, "");
}

/* What becomes an object of the store is a file, the rest is small. */
static bool is_file(const struct oc_remote_member *m)
{
  return oc_streq(m->kind, "artifact") ||
         (oc_streq(m->kind, "side") && m->size > OC_INLINE_MEMBER);
}

static int prepare_blob(struct look *l, size_t i)
{
  struct oc_remote *r = l->remote;
  struct oc_remote_member *m = &l->outcome->entry.members[i];

  if (!l->ask && is_file(m) && r->o.new_file(r->o.ctx, &m->file))
    return OC_E_IO;
  l->blobs[i] = transfer_new(r, l->ask ? METHOD_HEAD : METHOD_GET, "cas", m->sha256);
  if (!l->blobs[i])
    return OC_E_NOMEM;
  transfer_expect(l->blobs[i], m->size, m->sha256);
  l->blobs[i]->to_fd = m->file.fd;
  l->n_blobs++;
  return 0;
}

static void drop_parts(struct oc_remote_entry *e)
{
  size_t kept = 0;

  for (size_t i = 0; i < e->n_members; i++)
    if (!oc_streq(e->members[i].kind, "parts"))
      e->members[kept++] = e->members[i];
  e->n_members = kept;
}

static void fetch_all(struct look *l)
{
  struct oc_remote_entry *e = &l->outcome->entry;

  drop_parts(e);
  for (size_t i = 0; i < e->n_members; i++) {
    if (!prepare_blob(l, i))
      continue;
    look_fail(l, OC_REMOTE_FINE, "the cache has no place for an entry");
    return;
  }
  for (size_t i = 0; i < e->n_members; i++)
    transfer_start(l->blobs[i], blob_done, l);
}

/* ---------------------------------------------------------------- the record */

static void foreign(struct look *l, const char *why)
{
  struct oc_log_line line;

  oc_log_begin(&line, l->remote->o.log, OC_LOG_INFO, "remote_foreign");
  oc_log_hex(&line, "key", l->key, OC_SHA256_LEN);
  oc_log_str(&line, "reason", why);
  oc_log_end(&line);
  remote_lock(l->remote);
  l->remote->count.foreign++;
  remote_unlock(l->remote);
  finish(l, OC_REMOTE_ABSENT, OC_REMOTE_FINE, why);
}

static void record_done(struct transfer *t)
{
  struct look *l = t->owner;
  const char *why = "";

  if (t->verdict == VERDICT_ABSENT) {
    finish(l, OC_REMOTE_ABSENT, OC_REMOTE_FINE, "");
    return;
  }
  if (t->verdict != VERDICT_OK) {
    failed_transfer(l, t);
    return;
  }
  remote_lock(l->remote);
  l->remote->count.bytes_in += t->bytes;
  remote_unlock(l->remote);
  if (remote_record_unpack(t->body.data, t->body.len, l->key, l->remote->o.max_bytes,
                           &l->outcome->arena, &l->outcome->entry, &why) != 1) {
    foreign(l, why);
    return;
  }
  l->proven = true;
  transfer_free(t);
  l->record = NULL;
  fetch_all(l);
}

void look_start(struct look *l)
{
  l->next = l->remote->looks;
  if (l->next)
    l->next->prev = l;
  l->remote->looks = l;
  l->record = transfer_new(l->remote, METHOD_GET, "ac", l->key);
  if (!l->record)
    look_fail(l, OC_REMOTE_FINE, "no memory");
  else
    transfer_start(l->record, record_done, l);
}
