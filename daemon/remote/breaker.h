/* The circuit breaker of the remote tier, as plain data.
 *
 * A look at the remote holds a job back. When it ends without an answer, that time was
 * lost; the breaker keeps the sum of what is lost in any window of time (a minute) below
 * a budget (a second), whatever the remote does:
 *
 *   CLOSED     looks are made. After `failures` failed ones in a row, or when most of the
 *              budget is gone, the breaker opens
 *   OPEN       nothing is asked; at the end of `retry_ns` a probe is due
 *   PROBING    a probe, which no job waits for, is under way
 *   HALF_OPEN  the probe was answered: looks are made, the first verdict closes or opens
 *
 * What counts is delay, not work: a job that would wait for a slot anyway loses nothing
 * by looking meanwhile, so at most `lanes` looks (slots of the daemon) count at one time.
 * When the time that the present looks have held jobs back would exceed the budget, the
 * caller is told (OC_BREAKER_SPENT) and must fail or release each of them at once. A
 * released look goes on without a job waiting for it.
 *
 * A first outage gets six tenths of the budget. What opens again within the window gets a
 * tenth each time, and twice the time until the next probe: so there is always something
 * left to come back with. The last tenth is for the delays of the process itself.
 *
 * Pure: no clock, no threads, no memory. Times are nanoseconds of any monotonic clock. */
#ifndef OC_REMOTE_BREAKER_H
#define OC_REMOTE_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OC_BREAKER_STATES(X)                                                             \
  X(CLOSED, "closed")                                                                    \
  X(OPEN, "open")                                                                        \
  X(PROBING, "probing")                                                                  \
  X(HALF_OPEN, "half-open")

enum oc_breaker_state {
#define OC_BREAKER_STATE_ENUM(id, text) OC_BREAKER_##id,
  OC_BREAKER_STATES(OC_BREAKER_STATE_ENUM)
#undef OC_BREAKER_STATE_ENUM
};
const char *oc_breaker_state_name(enum oc_breaker_state s);

struct oc_breaker_limits {
  unsigned failures;  /* in a row, >= 1 */
  unsigned lanes;     /* jobs that can be worked on at one time, >= 1 */
  uint64_t retry_ns;  /* from opening to a probe; at most a third of the window */
  uint64_t budget_ns; /* most that may be lost ... */
  uint64_t window_ns; /* ... in so much time */
};

/* One look; the caller's memory, in the breaker's list while it holds a job back. */
struct oc_breaker_look {
  struct oc_breaker_look *prev, *next;
  uint64_t since_ns;
  uint64_t held_ns; /* after its release */
  bool held;
};

enum oc_breaker_end {
  OC_BREAKER_ANSWERED, /* found or not: the remote works */
  OC_BREAKER_FAILED,
  OC_BREAKER_DROPPED, /* nobody wants to know any more */
};

#define OC_BREAKER_LOSSES 16
struct oc_breaker_loss {
  uint64_t at_ns, lost_ns;
};

struct oc_breaker {
  struct oc_breaker_limits limits;
  enum oc_breaker_state state;
  unsigned in_row; /* failures */
  uint64_t probe_ns;
  uint64_t charged_ns; /* until then waiting is paid for */
  uint64_t opened_ns;  /* last time */
  struct oc_breaker_look *first, *last;
  unsigned n_held;
  struct oc_breaker_loss losses[OC_BREAKER_LOSSES];
  size_t n_losses;
  uint64_t total_lost_ns, n_opened; /* of all times */
};

void oc_breaker_init(struct oc_breaker *b, const struct oc_breaker_limits *limits);

/* May a look be made? Then it is in the list until oc_breaker_leave(). */
bool oc_breaker_enter(struct oc_breaker *b, struct oc_breaker_look *l, uint64_t now_ns);
/* Its job goes on without it. */
void oc_breaker_release(struct oc_breaker *b, struct oc_breaker_look *l, uint64_t now_ns);
void oc_breaker_leave(struct oc_breaker *b, struct oc_breaker_look *l, uint64_t now_ns,
                      enum oc_breaker_end end);
/* Something that no job waits for (an upload) could not reach the remote. */
void oc_breaker_failed(struct oc_breaker *b, uint64_t now_ns);

enum oc_breaker_due {
  OC_BREAKER_NOTHING,
  OC_BREAKER_SPENT, /* every held look must end or be released now */
  OC_BREAKER_PROBE, /* the state is PROBING now: send one, report oc_breaker_probed() */
};
/* Call at oc_breaker_due_ns(), or more often. */
enum oc_breaker_due oc_breaker_tick(struct oc_breaker *b, uint64_t now_ns);
/* UINT64_MAX: nothing will be due before the next call of another function. */
uint64_t oc_breaker_due_ns(struct oc_breaker *b, uint64_t now_ns);
void oc_breaker_probed(struct oc_breaker *b, uint64_t now_ns, bool answered);

/* Lost in the window that ends now. */
uint64_t oc_breaker_lost_ns(struct oc_breaker *b, uint64_t now_ns);

#endif
