/* The tier's thread: curl, the clock, and the two queues.
 *
 * Each round takes in what the daemon asked for, lets curl work, and looks at every limit
 * that may have passed; then it sleeps until the next one. */
#include "remote/remote_internal.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
/* A probe asks for this key, which no request has. */
static const uint8_t nobody[OC_SHA256_LEN];

/* ---------------------------------------------------------------- taking in */

static void take_looks(struct oc_remote *r)
{
  struct look *l;

  remote_lock(r);
  l = r->new_looks;
  r->new_looks = r->last_new_look = NULL;
  remote_unlock(r);
  while (l) {
    struct look *next = l->next;

    l->next = l->prev = NULL;
    look_start(l);
    l = next;
  }
}

static struct look *find_look(const struct oc_remote *r, uint64_t ticket)
{
  struct look *l = r->looks;

  while (l && l->ticket != ticket)
    l = l->next;
  return l;
}

static void take_forgotten(struct oc_remote *r)
{
  uint64_t *tickets;
  size_t n;

  remote_lock(r);
  tickets = r->forgotten;
  n = r->n_forgotten;
  r->forgotten = NULL;
  r->n_forgotten = r->room_forgotten = 0;
  remote_unlock(r);
  for (size_t i = 0; i < n; i++) {
    struct look *l = find_look(r, tickets[i]);

    if (l)
      look_drop(l);
  }
  free(tickets);
}

static void drop_pushes(struct oc_remote *r)
{
  while (r->pushes) {
    struct push *p = r->pushes;

    r->pushes = p->next;
    r->count.puts_dropped++;
    r->count.waiting_puts--;
    push_free(p);
  }
  r->last_push = NULL;
}

static void take_push(struct oc_remote *r)
{
  struct push *p = NULL;

  if (r->push)
    return;
  remote_lock(r);
  if (r->breaker.state == OC_BREAKER_OPEN || r->breaker.state == OC_BREAKER_PROBING)
    drop_pushes(r);
  p = r->pushes;
  if (p)
    r->pushes = p->next;
  if (!r->pushes)
    r->last_push = NULL;
  remote_unlock(r);
  if (p)
    push_start(p);
}

/* ---------------------------------------------------------------- the breaker */

static void probe_done(struct transfer *t)
{
  struct oc_remote *r = t->remote;
  bool answered = t->verdict == VERDICT_OK || t->verdict == VERDICT_ABSENT;

  remote_lock(r);
  oc_breaker_probed(&r->breaker, remote_now_ns(), answered);
  if (!answered)
    remote_note_trouble(r, t->trouble, t->why);
  remote_tell_state(r);
  remote_unlock(r);
  r->probe = NULL;
  transfer_free(t);
}

static void start_probe(struct oc_remote *r)
{
  r->probe = transfer_new(r, METHOD_HEAD, "ac", nobody);
  if (r->probe) {
    transfer_start(r->probe, probe_done, r);
    return;
  }
  remote_lock(r);
  oc_breaker_probed(&r->breaker, remote_now_ns(), false);
  remote_unlock(r);
}

/* Bytes that come may still be of use; for anything else no job waits any longer. */
static void spend(struct oc_remote *r)
{
  struct look *next;

  for (struct look *l = r->looks; l; l = next) {
    next = l->next;
    if (!l->held.held)
      continue;
    if (l->proven)
      look_release(l);
    else
      look_fail(l, OC_REMOTE_DOWN, "it does not answer in time");
  }
}

/* When the breaker wants to be asked again. */
static uint64_t ask_breaker(struct oc_remote *r, uint64_t now_ns)
{
  enum oc_breaker_due what;
  uint64_t due;

  remote_lock(r);
  what = oc_breaker_tick(&r->breaker, now_ns);
  remote_tell_state(r);
  remote_unlock(r);
  if (what == OC_BREAKER_SPENT)
    spend(r);
  else if (what == OC_BREAKER_PROBE)
    start_probe(r);
  remote_lock(r);
  due = oc_breaker_due_ns(&r->breaker, now_ns);
  remote_unlock(r);
  return due;
}

/* ---------------------------------------------------------------- the round */

static void take_ended(struct oc_remote *r)
{
  CURLMsg *m;
  int left;

  while ((m = curl_multi_info_read(r->multi, &left))) {
    struct transfer *t = NULL;
    CURLcode code = m->data.result;

    if (m->msg != CURLMSG_DONE)
      continue;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
    transfer_over(t, code);
  }
}

static uint64_t check_transfers(struct oc_remote *r)
{
  uint64_t first, due;

  do {
    first = UINT64_MAX;
    for (struct transfer *t = r->transfers; t; t = t->next) {
      due = transfer_check(t, remote_now_ns());
      if (due < first)
        first = due;
      if (!due)
        break; /* the list has changed */
    }
  } while (!first);
  return first;
}

static int wait_ms(uint64_t due_ns)
{
  uint64_t now = remote_now_ns();

  if (due_ns <= now)
    return 0;
  if (due_ns - now > 60000 * MS)
    return 60000;
  return (int)((due_ns - now) / MS) + 1;
}

/* True when nothing is left to be done, or no time. */
static bool at_end(struct oc_remote *r)
{
  bool end, stop;

  remote_lock(r);
  stop = r->stop;
  end = stop && (remote_now_ns() >= r->stop_ns || (!r->push && !r->pushes));
  remote_unlock(r);
  while (stop && r->looks)
    look_drop(r->looks);
  return end;
}

static void end_all(struct oc_remote *r)
{
  if (r->push) {
    push_free(r->push);
    r->push = NULL;
  }
  if (r->probe)
    transfer_free(r->probe);
  r->probe = NULL;
  remote_lock(r);
  drop_pushes(r);
  remote_unlock(r);
}

void *remote_thread(void *arg)
{
  struct oc_remote *r = arg;

  while (!at_end(r)) {
    uint64_t due, breaker_due;
    int running;

    take_looks(r);
    take_forgotten(r);
    take_push(r);
    curl_multi_perform(r->multi, &running);
    take_ended(r);
    take_push(r);
    breaker_due = ask_breaker(r, remote_now_ns());
    due = check_transfers(r);
    due = breaker_due < due ? breaker_due : due;
    remote_lock(r);
    if (r->stop && r->stop_ns < due)
      due = r->stop_ns;
    remote_unlock(r);
    curl_multi_poll(r->multi, NULL, 0, wait_ms(due), NULL);
  }
  end_all(r);
  return NULL;
}
