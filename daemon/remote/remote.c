/* The tier from outside: open, the two queues, state, close. */
#include "remote/remote_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MS           1000000ull
#define FAILURES     3
#define MINUTE_NS    (60000 * MS)
#define SETTINGS_CAP (64u << 10)

uint64_t remote_now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void remote_lock(struct oc_remote *r)
{
  pthread_mutex_lock(&r->mutex);
}

void remote_unlock(struct oc_remote *r)
{
  pthread_mutex_unlock(&r->mutex);
}

void remote_note_trouble(struct oc_remote *r, enum oc_remote_trouble trouble,
                         const char *why)
{
  r->count.trouble = trouble;
  snprintf(r->count.why, sizeof(r->count.why), "%s", why);
}

void remote_tell_state(struct oc_remote *r)
{
  enum oc_breaker_state now = r->breaker.state;
  bool open = now == OC_BREAKER_OPEN;
  struct oc_log_line l;

  if (now == r->told)
    return;
  /* Probes that fail again and again are one outage. */
  if (!(open && r->told == OC_BREAKER_PROBING) && now != OC_BREAKER_PROBING) {
    oc_log_begin(&l, r->o.log, open ? OC_LOG_WARNING : OC_LOG_INFO, "remote_breaker");
    oc_log_str(&l, "state", oc_breaker_state_name(now));
    if (open)
      oc_log_str(&l, "reason", r->count.why);
    oc_log_u64(&l, "lost_ms", r->breaker.total_lost_ns / MS);
    oc_log_end(&l);
  }
  r->told = now;
}

/* ---------------------------------------------------------------- outcomes */

void remote_send(struct oc_remote *r, struct oc_remote_outcome *o)
{
  uint64_t one = 1;

  remote_lock(r);
  if (r->last_outcome)
    r->last_outcome->next = o;
  else
    r->outcomes = o;
  r->last_outcome = o;
  remote_unlock(r);
  while (write(r->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
    continue;
}

struct oc_remote_outcome *oc_remote_next(struct oc_remote *r)
{
  struct oc_remote_outcome *o;
  uint64_t n;

  remote_lock(r);
  o = r->outcomes;
  if (o)
    r->outcomes = o->next;
  if (!r->outcomes)
    r->last_outcome = NULL;
  if (!o && read(r->event_fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
    oc_log_event(r->o.log, OC_LOG_ERROR, "remote_event", 0, strerror(errno));
  remote_unlock(r);
  if (o)
    o->next = NULL;
  return o;
}

void oc_remote_outcome_free(struct oc_remote_outcome *o)
{
  for (size_t i = 0; i < o->entry.n_members; i++)
    if (o->entry.members[i].file.fd >= 0)
      o->drop_file(o->ctx, &o->entry.members[i].file);
  oc_arena_clear(&o->arena);
  free(o);
}

int oc_remote_event_fd(const struct oc_remote *r)
{
  return r->event_fd;
}

/* ---------------------------------------------------------------- looking, putting */

static const char *refusal(struct oc_remote *r)
{
  bool open =
      r->breaker.state == OC_BREAKER_OPEN || r->breaker.state == OC_BREAKER_PROBING;

  r->count.not_asked++;
  snprintf(r->refusal, sizeof(r->refusal), "%s%s%s",
           open ? "it is not asked for a while"
                : "the time that it may cost is used up for this minute",
           *r->count.why ? ": " : "", r->count.why);
  return r->refusal;
}

bool oc_remote_look(struct oc_remote *r, const uint8_t key[OC_SHA256_LEN],
                    uint64_t ticket, bool ask, const char **ret_why)
{
  struct look *l = look_new(r, key, ticket);
  bool may;

  if (!l) {
    *ret_why = "no memory to ask it";
    return false;
  }
  l->ask = ask;
  remote_lock(r);
  may = oc_breaker_enter(&r->breaker, &l->held, remote_now_ns());
  r->count.looks += may;
  if (!may) {
    *ret_why = refusal(r);
  } else {
    l->prev = r->last_new_look;
    if (l->prev)
      l->prev->next = l;
    else
      r->new_looks = l;
    r->last_new_look = l;
  }
  remote_unlock(r);
  if (may)
    curl_multi_wakeup(r->multi);
  else
    look_free(l);
  return may;
}

void oc_remote_forget(struct oc_remote *r, uint64_t ticket)
{
  uint64_t *grown = r->forgotten;

  remote_lock(r);
  grown = r->forgotten;
  if (r->n_forgotten == r->room_forgotten) {
    size_t room = r->room_forgotten ? 2 * r->room_forgotten : 16;

    grown = realloc(r->forgotten, room * sizeof(*grown));
    if (grown) {
      r->forgotten = grown;
      r->room_forgotten = room;
    }
  }
  if (grown)
    r->forgotten[r->n_forgotten++] = ticket;
  remote_unlock(r);
  curl_multi_wakeup(r->multi);
}

bool oc_remote_put(struct oc_remote *r, const struct oc_remote_entry *e)
{
  struct push *p = NULL;
  bool room;

  if (!r->o.write)
    return false;
  remote_lock(r);
  room = r->count.waiting_puts < REMOTE_MOST_PUSHES && !r->stop;
  remote_unlock(r);
  if (room)
    p = push_new(r, e);
  remote_lock(r);
  if (!p) {
    r->count.puts_dropped++;
  } else {
    if (r->last_push)
      r->last_push->next = p;
    else
      r->pushes = p;
    r->last_push = p;
    r->count.waiting_puts++;
  }
  remote_unlock(r);
  if (p)
    curl_multi_wakeup(r->multi);
  return p != NULL;
}

void oc_remote_status(struct oc_remote *r, struct oc_remote_status *ret)
{
  remote_lock(r);
  *ret = r->count;
  ret->state = r->breaker.state;
  ret->opened = r->breaker.n_opened;
  ret->lost_ms = r->breaker.total_lost_ns / MS;
  remote_unlock(r);
}

/* ---------------------------------------------------------------- open, close */

static int copy_settings(struct oc_remote *r, const struct oc_remote_options *o)
{
  const char **texts[] = { &r->o.url, &r->o.netrc, &r->o.header_file, &r->o.ca };
  char *url;
  size_t len;

  r->o = *o;
  for (size_t i = 0; i < OC_COUNT(texts); i++) {
    *texts[i] = oc_arena_strdup(&r->arena, *texts[i]);
    if (!*texts[i])
      return OC_E_NOMEM;
  }
  url = (char *)r->o.url;
  for (len = strlen(url); len && url[len - 1] == '/'; len--)
    url[len - 1] = '\0';
  return 0;
}

static int open_parts(struct oc_remote *r, struct oc_error *err)
{
  const struct oc_breaker_limits limits = { .failures = FAILURES,
                                            .lanes = r->o.lanes ? r->o.lanes : 1,
                                            .retry_ns = r->o.retry_ms * MS,
                                            .budget_ns = r->o.outage_ms * MS,
                                            .window_ns = MINUTE_NS };
  struct curl_slist *expect;
  int rc;

  oc_breaker_init(&r->breaker, &limits);
  if (curl_global_init(CURL_GLOBAL_DEFAULT))
    return oc_error_set(err, OC_E_NOMEM, "cannot set up libcurl");
  rc = remote_read_headers(r->o.header_file, &r->headers, err);
  if (rc)
    return rc;
  /* Uploads begin at once; servers that know no 100-continue would cost a second. */
  expect = curl_slist_append(r->headers, "Expect:");
  r->multi = curl_multi_init();
  r->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (expect)
    r->headers = expect;
  if (!expect || !r->multi || r->event_fd < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the remote cache");
  return 0;
}

static int start_thread(struct oc_remote *r, struct oc_error *err)
{
  sigset_t all, old;
  int rc;

  sigfillset(&all); /* signals are for the loop thread */
  pthread_sigmask(SIG_SETMASK, &all, &old);
  rc = pthread_create(&r->thread, NULL, remote_thread, r);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  r->running = !rc;
  return rc ? oc_error_set(err, OC_E_NOMEM, "cannot start the remote cache's thread") : 0;
}

int oc_remote_open(const struct oc_remote_options *o, struct oc_remote **ret,
                   struct oc_error *err)
{
  struct oc_remote *r;
  int rc = oc_remote_check(o, err);

  if (rc)
    return rc;
  r = calloc(1, sizeof(*r));
  if (!r)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the remote cache");
  oc_arena_init(&r->arena, SETTINGS_CAP);
  pthread_mutex_init(&r->mutex, NULL);
  r->event_fd = -1;
  if (copy_settings(r, o))
    rc = oc_error_set(err, OC_E_NOMEM, "no memory for the remote cache");
  if (!rc)
    rc = open_parts(r, err);
  if (!rc)
    rc = start_thread(r, err);
  if (rc) {
    oc_remote_close(r, 0);
    return rc;
  }
  *ret = r;
  return 0;
}

static void free_queues(struct oc_remote *r)
{
  struct oc_remote_outcome *o;

  while (r->new_looks) {
    struct look *l = r->new_looks;

    r->new_looks = l->next;
    look_free(l);
  }
  while ((o = r->outcomes)) {
    r->outcomes = o->next;
    oc_remote_outcome_free(o);
  }
  free(r->forgotten);
}

void oc_remote_close(struct oc_remote *r, uint64_t wait_ms)
{
  if (!r)
    return;
  if (r->running) {
    remote_lock(r);
    r->stop = true;
    r->stop_ns = remote_now_ns() + wait_ms * MS;
    remote_unlock(r);
    curl_multi_wakeup(r->multi);
    pthread_join(r->thread, NULL);
  }
  free_queues(r);
  if (r->multi)
    curl_multi_cleanup(r->multi);
  curl_slist_free_all(r->headers);
  oc_close_fd(&r->event_fd);
  pthread_mutex_destroy(&r->mutex);
  oc_arena_clear(&r->arena);
  curl_global_cleanup();
  free(r);
}
