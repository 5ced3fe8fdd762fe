/* The breaker: who may look, what was lost, when to probe.
 *
 * Waiting is paid for once. When looks overlap and fail one after the other, each pays
 * only for the time since the last payment, times the number of jobs that could have run
 * meanwhile: the sum is what the daemon lost, not what its clients felt together. */
#include "remote/breaker.h"

#include <assert.h>
#include <string.h>

static const char *const names[] = {
#define OC_BREAKER_STATE_NAME(id, text) [OC_BREAKER_##id] = text,
  OC_BREAKER_STATES(OC_BREAKER_STATE_NAME)
#undef OC_BREAKER_STATE_NAME
};

const char *oc_breaker_state_name(enum oc_breaker_state s)
{
  return names[s];
}

void oc_breaker_init(struct oc_breaker *b, const struct oc_breaker_limits *limits)
{
  assert(limits->failures && limits->lanes && limits->window_ns);
  memset(b, 0, sizeof(*b));
  b->limits = *limits;
}

/* ---------------------------------------------------------------- losses */

static void forget_old(struct oc_breaker *b, uint64_t now_ns)
{
  size_t old = 0;

  while (old < b->n_losses && b->losses[old].at_ns + b->limits.window_ns <= now_ns)
    old++;
  b->n_losses -= old;
  memmove(b->losses, b->losses + old, b->n_losses * sizeof(b->losses[0]));
}

uint64_t oc_breaker_lost_ns(struct oc_breaker *b, uint64_t now_ns)
{
  uint64_t sum = 0;

  forget_old(b, now_ns);
  for (size_t i = 0; i < b->n_losses; i++)
    sum += b->losses[i].lost_ns;
  return sum;
}

static void charge(struct oc_breaker *b, uint64_t now_ns, uint64_t lost_ns)
{
  forget_old(b, now_ns);
  b->total_lost_ns += lost_ns;
  if (!lost_ns)
    return;
  if (b->n_losses == OC_BREAKER_LOSSES) { /* the newest two become one */
    b->n_losses--;
    lost_ns += b->losses[b->n_losses].lost_ns;
  }
  b->losses[b->n_losses++] = (struct oc_breaker_loss){ now_ns, lost_ns };
}

/* Most that may be lost now, with what is lost already. */
static uint64_t limit_ns(struct oc_breaker *b, uint64_t now_ns)
{
  uint64_t tenth = b->limits.budget_ns / 10;
  uint64_t again = oc_breaker_lost_ns(b, now_ns) + tenth;

  if (again < 6 * tenth)
    return 6 * tenth;
  return again < 9 * tenth ? again : 9 * tenth;
}

static uint64_t held_since(const struct oc_breaker *b, const struct oc_breaker_look *l,
                           uint64_t now_ns)
{
  uint64_t from = l->since_ns > b->charged_ns ? l->since_ns : b->charged_ns;

  return now_ns > from ? now_ns - from : 0;
}

static unsigned lanes_used(const struct oc_breaker *b)
{
  return b->n_held < b->limits.lanes ? b->n_held : b->limits.lanes;
}

/* What is lost when every look that is under way fails now. */
static uint64_t at_stake_ns(struct oc_breaker *b, uint64_t now_ns)
{
  uint64_t sum = 0;
  unsigned n = 0;

  for (struct oc_breaker_look *l = b->first; l && n < b->limits.lanes; l = l->next, n++)
    sum += held_since(b, l, now_ns);
  return sum;
}

/* ---------------------------------------------------------------- states */

static void open_it(struct oc_breaker *b, uint64_t now_ns)
{
  bool again = b->n_opened && now_ns < b->opened_ns + b->limits.window_ns;

  b->n_opened += b->state == OC_BREAKER_CLOSED;
  b->state = OC_BREAKER_OPEN;
  b->opened_ns = now_ns;
  b->probe_ns = now_ns + b->limits.retry_ns * (again ? 2 : 1);
}

/* A probe that failed cost nobody anything. */
static void open_it_again(struct oc_breaker *b, uint64_t now_ns)
{
  b->state = OC_BREAKER_OPEN;
  b->probe_ns = now_ns + b->limits.retry_ns;
}

static void note_failure(struct oc_breaker *b, uint64_t now_ns)
{
  bool looks = b->state == OC_BREAKER_CLOSED || b->state == OC_BREAKER_HALF_OPEN;

  b->in_row++;
  if (looks && (b->state == OC_BREAKER_HALF_OPEN || b->in_row >= b->limits.failures ||
                oc_breaker_lost_ns(b, now_ns) >= b->limits.budget_ns / 10 * 6))
    open_it(b, now_ns);
}

static void note_answer(struct oc_breaker *b)
{
  b->in_row = 0;
  b->state = OC_BREAKER_CLOSED;
}

/* ---------------------------------------------------------------- looks */

bool oc_breaker_enter(struct oc_breaker *b, struct oc_breaker_look *l, uint64_t now_ns)
{
  uint64_t spent = oc_breaker_lost_ns(b, now_ns) + at_stake_ns(b, now_ns);

  if (b->state != OC_BREAKER_CLOSED && b->state != OC_BREAKER_HALF_OPEN)
    return false;
  if (spent + b->limits.budget_ns / 20 > limit_ns(b, now_ns))
    return false;
  *l = (struct oc_breaker_look){ .prev = b->last, .since_ns = now_ns, .held = true };
  if (b->last)
    b->last->next = l;
  else
    b->first = l;
  b->last = l;
  b->n_held++;
  return true;
}

static void unlink_look(struct oc_breaker *b, struct oc_breaker_look *l)
{
  if (l->prev)
    l->prev->next = l->next;
  else
    b->first = l->next;
  if (l->next)
    l->next->prev = l->prev;
  else
    b->last = l->prev;
  l->held = false;
  b->n_held--;
}

void oc_breaker_release(struct oc_breaker *b, struct oc_breaker_look *l, uint64_t now_ns)
{
  if (!l->held)
    return;
  l->held_ns = held_since(b, l, now_ns);
  unlink_look(b, l);
}

void oc_breaker_leave(struct oc_breaker *b, struct oc_breaker_look *l, uint64_t now_ns,
                      enum oc_breaker_end end)
{
  uint64_t lost = l->held ? held_since(b, l, now_ns) * lanes_used(b) : l->held_ns;
  bool was_held = l->held;

  if (was_held)
    unlink_look(b, l);
  if (end == OC_BREAKER_FAILED) {
    charge(b, now_ns, lost);
    if (was_held)
      b->charged_ns = now_ns;
    note_failure(b, now_ns);
  } else if (end == OC_BREAKER_ANSWERED) {
    note_answer(b);
  }
}

void oc_breaker_failed(struct oc_breaker *b, uint64_t now_ns)
{
  note_failure(b, now_ns);
}

/* ---------------------------------------------------------------- time */

enum oc_breaker_due oc_breaker_tick(struct oc_breaker *b, uint64_t now_ns)
{
  if (b->first &&
      oc_breaker_lost_ns(b, now_ns) + at_stake_ns(b, now_ns) >= limit_ns(b, now_ns))
    return OC_BREAKER_SPENT;
  if (b->state != OC_BREAKER_OPEN || now_ns < b->probe_ns)
    return OC_BREAKER_NOTHING;
  b->state = OC_BREAKER_PROBING;
  return OC_BREAKER_PROBE;
}

uint64_t oc_breaker_due_ns(struct oc_breaker *b, uint64_t now_ns)
{
  uint64_t due = b->state == OC_BREAKER_OPEN ? b->probe_ns : UINT64_MAX;
  uint64_t spent = oc_breaker_lost_ns(b, now_ns) + at_stake_ns(b, now_ns);
  uint64_t limit = limit_ns(b, now_ns);

  if (b->first) {
    uint64_t left = spent < limit ? (limit - spent) / lanes_used(b) : 0;

    due = now_ns + left < due ? now_ns + left : due;
  }
  return due;
}

void oc_breaker_probed(struct oc_breaker *b, uint64_t now_ns, bool answered)
{
  if (b->state != OC_BREAKER_PROBING)
    return;
  if (answered)
    b->state = OC_BREAKER_HALF_OPEN;
  else
    open_it_again(b, now_ns);
}
