/* Waiters: who is told, who has left, and what a job without any does.
 *
 * A waiter that leaves without a word (its connection broke) may have done so by
 * accident: the job lives on for the grace time. One that cancels means it. One that
 * detaches wants the job to end by itself, for the cache. */
#include "flow/flow_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int flow_waiter_add(struct oc_flow_job *j, const struct oc_waiter *w, bool joined)
{
  if (j->n_waiters == j->room_waiters) {
    size_t room = j->room_waiters ? 2 * j->room_waiters : 1;
    struct waiter *grown = realloc(j->waiters, room * sizeof(*grown));

    if (!grown)
      return OC_E_NOMEM;
    j->waiters = grown;
    j->room_waiters = room;
  }
  j->waiters[j->n_waiters++] = (struct waiter){ .who = *w, .joined = joined };
  return 0;
}

void flow_answer_all(struct oc_flow *f, struct oc_flow_job *j, enum oc_answer how)
{
  for (size_t i = 0; i < j->n_waiters; i++) {
    bool joined = how == OC_ANSWER_RESULT && j->waiters[i].joined;

    f->effects.answer(f->ctx, j, &j->waiters[i].who, joined ? OC_ANSWER_JOINED : how);
  }
  j->n_waiters = 0;
}

static void drop_waiter(struct oc_flow_job *j, size_t i)
{
  memmove(&j->waiters[i], &j->waiters[i + 1],
          (j->n_waiters - i - 1) * sizeof(*j->waiters));
  j->n_waiters--;
}

static bool is_orphan(const struct oc_flow_job *j)
{
  return !flow_is_over(j->state) && j->state < OC_JOB_PUBLISHING && !j->n_waiters &&
         !j->kept;
}

void flow_check_orphan(struct oc_flow *f, struct oc_flow_job *j)
{
  if (!is_orphan(j) || j->orphan_ns)
    return;
  if (f->limits.orphan_grace_ns)
    j->orphan_ns = f->now + f->limits.orphan_grace_ns;
  else
    flow_stop(f, j);
}

void oc_flow_session_gone(struct oc_flow *f, uint64_t now_ns, uint64_t session)
{
  flow_event(f, now_ns, 0);
  for (struct oc_flow_job *j = f->first; j; j = j->next) {
    size_t before = j->n_waiters;

    for (size_t i = j->n_waiters; i-- > 0;)
      if (j->waiters[i].who.session == session)
        drop_waiter(j, i);
    if (j->n_waiters != before)
      flow_check_orphan(f, j);
  }
  flow_settle(f);
}

static bool take_waiter(struct oc_flow_job *j, const struct oc_waiter *w)
{
  for (size_t i = 0; j && i < j->n_waiters; i++) {
    if (j->waiters[i].who.session != w->session ||
        j->waiters[i].who.request != w->request)
      continue;
    drop_waiter(j, i);
    return true;
  }
  return false;
}

bool oc_flow_detach(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                    const struct oc_waiter *w)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!take_waiter(j, w))
    return false;
  j->kept = true;
  return true;
}

bool oc_flow_cancel(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                    const struct oc_waiter *w)
{
  struct oc_flow_job *j = flow_event(f, now_ns, id);

  if (!take_waiter(j, w))
    return false;
  f->effects.answer(f->ctx, j, w, OC_ANSWER_STOPPED);
  if (is_orphan(j))
    flow_stop(f, j);
  flow_settle(f);
  return true;
}
