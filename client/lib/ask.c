/* Questions to the daemon that are no jobs: status, cache, stop. */
#include <stdlib.h>
#include <unistd.h>

#include "lib/lib_internal.h"

static void fill(Omcc__V1__ToDaemon *m, enum omcc_question what, uint32_t limit,
                 Omcc__V1__StatusRequest *status, Omcc__V1__CacheRequest *cache,
                 Omcc__V1__StopRequest *stop, Omcc__V1__SocsRequest *socs)
{
  omcc__v1__status_request__init(status);
  omcc__v1__cache_request__init(cache);
  omcc__v1__stop_request__init(stop);
  switch (what) {
  case OMCC_ASK_STATUS:
    m->body_case = OMCC__V1__TO_DAEMON__BODY_STATUS;
    m->status = status;
    break;
  case OMCC_ASK_SOCS:
    omcc__v1__socs_request__init(socs);
    m->body_case = OMCC__V1__TO_DAEMON__BODY_SOCS;
    m->socs = socs;
    break;
  case OMCC_ASK_CACHE_STATS:
  case OMCC_ASK_CACHE_LIST:
    cache->what = what == OMCC_ASK_CACHE_LIST ? OMCC__V1__CACHE_REQUEST__WHAT__LIST
                                              : OMCC__V1__CACHE_REQUEST__WHAT__STATS;
    cache->limit = limit;
    m->body_case = OMCC__V1__TO_DAEMON__BODY_CACHE;
    m->cache = cache;
    break;
  case OMCC_ASK_STOP:
  case OMCC_ASK_STOP_NOW:
    stop->now = what == OMCC_ASK_STOP_NOW;
    m->body_case = OMCC__V1__TO_DAEMON__BODY_STOP;
    m->stop = stop;
    break;
  }
}

void omcc_forget_answer(struct omcc *c)
{
  struct omcc_question_state *q = &c->question;

  for (size_t i = 0; i < q->n_fds; i++)
    if (q->fds[i] >= 0)
      close(q->fds[i]);
  free(q->bytes);
  *q = (struct omcc_question_state){ 0 };
}

/* Sends a question and waits for its answer. */
static int exchange(struct omcc *c, Omcc__V1__ToDaemon *m, const int *fds, size_t n_fds,
                    int timeout_ms, uint8_t **ret, size_t *ret_len,
                    struct omcc_error *err)
{
  struct omcc_question_state *q = &c->question;
  int64_t deadline = omcc_now_ms() + timeout_ms;
  int rc;

  omcc_forget_answer(c);
  q->id = c->next_id++;
  m->id = q->id;
  rc = omcc_send(c, m, fds, n_fds, false, err);
  while (!rc && !q->done) {
    int64_t left = deadline - omcc_now_ms();

    if (left <= 0)
      return omcc_fail(err, OMCC_E_BUSY, OMCC_DAEMON,
                       "the daemon did not answer in time");
    rc = omcc_wait(c, (int)left, err);
  }
  if (rc == OMCC_E_CLOSED && q->done)
    rc = 0;
  if (rc < 0)
    return rc;
  q->id = 0;
  if (q->rc < 0) {
    if (err)
      *err = q->err;
    return q->rc;
  }
  *ret = q->bytes;
  *ret_len = q->len;
  q->bytes = NULL;
  return 0;
}

int omcc_ask(struct omcc *c, enum omcc_question what, uint32_t limit, int timeout_ms,
             uint8_t **ret, size_t *ret_len, struct omcc_error *err)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__StatusRequest status;
  Omcc__V1__CacheRequest cache;
  Omcc__V1__StopRequest stop;
  Omcc__V1__SocsRequest socs;

  fill(&m, what, limit, &status, &cache, &stop, &socs);
  return exchange(c, &m, NULL, 0, timeout_ms, ret, ret_len, err);
}

int omcc_cache_ask(struct omcc *c, const struct omcc_cache_query *query, int timeout_ms,
                   uint8_t **ret, size_t *ret_len, struct omcc_error *err)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__CacheRequest cache = OMCC__V1__CACHE_REQUEST__INIT;

  cache.what = (Omcc__V1__CacheRequest__What)query->what;
  cache.limit = query->limit;
  cache.key = (char *)(query->key ? query->key : "");
  cache.other = (char *)(query->other ? query->other : "");
  cache.has_max = query->has_max;
  cache.max_bytes = query->max_bytes;
  cache.older_than_s = query->older_than_s;
  cache.toolkit = (char *)(query->toolkit ? query->toolkit : "");
  cache.dry_run = query->dry_run;
  cache.pin_s = query->pin_s;
  cache.skip = query->skip;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_CACHE;
  m.cache = &cache;
  return exchange(c, &m, &query->fd, query->has_fd ? 1 : 0, timeout_ms, ret, ret_len,
                  err);
}

int omcc_cache_take_fd(struct omcc *c, size_t index)
{
  struct omcc_question_state *q = &c->question;
  int fd = index < q->n_fds ? q->fds[index] : -1;

  if (fd >= 0)
    q->fds[index] = -1;
  return fd;
}
