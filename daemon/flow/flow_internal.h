/* What the files of flow share: the job, the lease, the table.
 *
 * Two small machines run side by side in a job. `state` is what the order is about and
 * what users see; `lease` is what a worker does for it, because a worker may plan while
 * the inputs are still read. Both have one table of legal moves (states.c); an illegal
 * move is a bug. A job that is over stays in the table until settle(), so that nothing an
 * event looks at disappears under it. */
#ifndef OC_FLOW_INTERNAL_H
#define OC_FLOW_INTERNAL_H

#include "flow/flow.h"

#define OC_LEASE_STATES(X)                                                               \
  X(NONE, "none")                                                                        \
  X(WAITING, "waiting") /* in line for a slot */                                         \
  X(PLANNING, "planning")                                                                \
  X(PLANNED, "planned") /* the worker holds the graph and waits */                       \
  X(BUILDING, "building")                                                                \
  X(RUNNING, "running") /* the vendor's compiler */

enum oc_lease_state {
#define OC_LEASE_STATE_ENUM(id, text) OC_LEASE_##id,
  OC_LEASE_STATES(OC_LEASE_STATE_ENUM)
#undef OC_LEASE_STATE_ENUM
      OC_LEASE_N_STATES
};

struct waiter {
  struct oc_waiter who;
  bool joined; /* came from an identical order */
};

struct oc_flow_job {
  uint64_t id;
  enum oc_job_state state;
  enum oc_lease_state lease;
  uint32_t uid;
  enum oc_want want;
  bool uses_tool;
  bool must_scout; /* READING cannot end without a plan */
  bool plan_done;  /* a tool's order: planned, or found not plannable */
  bool plan_ok;    /* nothing forbids Build */
  bool kept;       /* somebody detached: lives without waiters */
  bool has_key;    /* in the key index */
  bool has_plan_key;
  bool from_object; /* PUBLISHING an object of the store */
  bool fetching;    /* oc_flow_fetched() is to come */
  bool plan_asked;  /* other machines were asked for the plan's bytes */
  uint8_t key[32];
  uint8_t plan_key[32];
  unsigned attempts; /* workers started for the present step */
  enum oc_failure failure;
  uint64_t twin;        /* TWIN: the job that builds the same bytes */
  uint64_t deadline_ns; /* of the present step, 0 none */
  uint64_t orphan_ns;   /* when an orphan is stopped, 0 none */
  struct waiter *waiters;
  size_t n_waiters, room_waiters;
  void *data;
  struct oc_flow_job *prev, *next;        /* all jobs, by id */
  struct oc_flow_job *id_next, *key_next; /* hash chains */
};

/* What one user has in the table. */
struct share {
  uint32_t uid;
  unsigned jobs;
  unsigned busy;
};

struct oc_flow {
  struct oc_flow_limits limits;
  struct oc_flow_effects effects;
  void *ctx;
  uint64_t now;
  uint64_t next_id;
  bool draining;
  struct oc_flow_job *first, *last;
  size_t n_jobs, n_over;
  size_t n_in[OC_JOB_N_STATES];
  unsigned busy;
  struct oc_flow_job **ids, **keys; /* buckets */
  size_t n_buckets;
  struct share *shares;
  size_t n_shares, room_shares;
};

/* ---- table.c */
int flow_table_init(struct oc_flow *f);
void flow_table_clear(struct oc_flow *f);
void flow_table_add(struct oc_flow *f, struct oc_flow_job *j);
void flow_table_remove(struct oc_flow *f, struct oc_flow_job *j);
void flow_key_add(struct oc_flow *f, struct oc_flow_job *j);
void flow_key_remove(struct oc_flow *f, struct oc_flow_job *j);
struct oc_flow_job *flow_key_find(const struct oc_flow *f, const uint8_t key[32]);
/* NULL when there is none and no memory for one. Valid until the next call. */
struct share *flow_share(struct oc_flow *f, uint32_t uid);

/* ---- states.c */
bool flow_is_over(enum oc_job_state s);
bool flow_lease_busy(enum oc_lease_state l);
void flow_move(struct oc_flow *f, struct oc_flow_job *j, enum oc_job_state to);
void flow_lease(struct oc_flow *f, struct oc_flow_job *j, enum oc_lease_state to);
/* NULL when the job is not there or over: an event that comes too late. */
struct oc_flow_job *flow_event(struct oc_flow *f, uint64_t now_ns, uint64_t id);
/* Forgets what is over and starts what can start; the end of every event. */
void flow_settle(struct oc_flow *f);

/* ---- open.c */
/* From the key, or from FETCHING, to whatever is next. */
void flow_go_on(struct oc_flow *f, struct oc_flow_job *j);

/* ---- fetch.c */
/* True: the job is FETCHING. */
bool flow_fetch(struct oc_flow *f, struct oc_flow_job *j, bool plan);

/* ---- queue.c */
void flow_enqueue(struct oc_flow *f, struct oc_flow_job *j);
bool flow_dispatch_one(struct oc_flow *f);
bool flow_slot_free(const struct oc_flow *f);
/* Starts planning or running in a free slot (or the job's own). */
void flow_start(struct oc_flow *f, struct oc_flow_job *j);

/* ---- plan.c */
void flow_decide(struct oc_flow *f, struct oc_flow_job *j);
void flow_plan_over(struct oc_flow *f, struct oc_flow_job *j);

/* ---- finish.c */
void flow_publish(struct oc_flow *f, struct oc_flow_job *j, enum oc_source source,
                  struct oc_flow_job *twin);
void flow_lost(struct oc_flow *f, struct oc_flow_job *j, enum oc_failure why);
void flow_fail(struct oc_flow *f, struct oc_flow_job *j, enum oc_failure why);
void flow_stop(struct oc_flow *f, struct oc_flow_job *j);
void flow_end_work(struct oc_flow *f, struct oc_flow_job *j, bool kill);

/* ---- waiters.c */
int flow_waiter_add(struct oc_flow_job *j, const struct oc_waiter *w, bool joined);
void flow_answer_all(struct oc_flow *f, struct oc_flow_job *j, enum oc_answer how);
void flow_check_orphan(struct oc_flow *f, struct oc_flow_job *j);

/* What must hold between two events: NULL, or the first thing that does not. */
const char *flow_check(const struct oc_flow *f);

#endif
