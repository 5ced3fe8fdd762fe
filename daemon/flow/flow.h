/* The way of a compile order through the daemon, as plain data.
 *
 * A job is one order: an id, a state, an owner, a list of waiters. Flow decides who gets
 * a worker, who joins whom, what is tried again, what is stopped; it does nothing itself:
 * every effect is a call through struct oc_flow_effects, and time comes in as `now_ns`
 * (any monotonic clock). So a whole daemon's day can be played by a seed.
 *
 *   READING    inputs are digested; a worker may already plan ("scout"), because the
 *              model names further inputs, or to use the time that digesting takes
 *   FETCHING   key known and missed; another machine may have the result
 *   QUEUED     waits for a slot
 *   PLANNING   a worker plans
 *   TWIN       another job builds the same bytes (equal plan key): waits for its output
 *   BUILDING   the planned worker writes the artifact (builtin)
 *   RUNNING    the vendor's compiler runs (atc)
 *   PUBLISHING the output is digested
 *   STORING    waiters are answered, the store is not done; identical orders are answered
 *              from here
 *   DONE FAILED STOPPED MERGED   over; MERGED: its waiters went to an identical job
 *
 * A slot is a worker's or a compiler's place; a job holds at most one.
 *
 * Ownership: oc_flow_new/free; `data` of a job is the caller's, given back in forget().
 * Effects must not call flow (they report later, as events). Thread: one. */
#ifndef OC_FLOW_FLOW_H
#define OC_FLOW_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OC_JOB_STATES(X)                                                                 \
  X(READING, "reading")                                                                  \
  X(FETCHING, "fetching")                                                                \
  X(QUEUED, "queued")                                                                    \
  X(PLANNING, "planning")                                                                \
  X(TWIN, "waiting")                                                                     \
  X(BUILDING, "building")                                                                \
  X(RUNNING, "compiling")                                                                \
  X(PUBLISHING, "publishing")                                                            \
  X(STORING, "storing")                                                                  \
  X(DONE, "done")                                                                        \
  X(FAILED, "failed")                                                                    \
  X(STOPPED, "stopped")                                                                  \
  X(MERGED, "merged")

enum oc_job_state {
#define OC_JOB_STATE_ENUM(id, text) OC_JOB_##id,
  OC_JOB_STATES(OC_JOB_STATE_ENUM)
#undef OC_JOB_STATE_ENUM
      OC_JOB_N_STATES
};

/* "reading", "queued", ...: words of the protocol and the log. */
const char *oc_job_state_name(enum oc_job_state s);

/* Who waits: a request of a session, both by number, never by pointer. */
struct oc_waiter {
  uint64_t session;
  uint64_t request;
};

enum oc_want { OC_WANT_COMPILE, OC_WANT_EXPLAIN };

/* Why a job ended, or lost its worker. */
enum oc_failure {
  OC_FAIL_DIED,          /* worker or runner gone without an answer: tried once more */
  OC_FAIL_INPUT_CHANGED, /* an input changed under the worker */
  OC_FAIL_TIMEOUT,
  OC_FAIL_OOM,
  OC_FAIL_REQUEST,  /* the user's mistake: findings say which */
  OC_FAIL_TOOL,     /* the vendor's compiler said no */
  OC_FAIL_INTERNAL, /* ours */
};
const char *oc_failure_name(enum oc_failure f);

/* What a waiter is told. */
enum oc_answer {
  OC_ANSWER_RESULT,    /* a fresh result of this job */
  OC_ANSWER_JOINED,    /* the same, made for another waiter first */
  OC_ANSWER_HIT,       /* the same, complete before the waiter came and not yet stored */
  OC_ANSWER_EXPLAINED, /* the report only */
  OC_ANSWER_FAILED,
  OC_ANSWER_STOPPED, /* cancelled, or the daemon stops */
};

/* Where a result comes from. */
enum oc_source {
  OC_SOURCE_BUILT,  /* by a worker or the vendor's compiler */
  OC_SOURCE_OBJECT, /* an object with this plan key is in the store */
  OC_SOURCE_TWIN,   /* of the job `twin`, which built the same bytes */
  OC_SOURCE_REMOTE, /* of another machine: the caller has all of it */
};

struct oc_flow_job; /* opaque; see the getters below */

struct oc_flow_effects {
  /* Lease a worker and send Plan. 0, or negative: the job fails as OC_FAIL_INTERNAL. */
  int (*start_plan)(void *ctx, struct oc_flow_job *j);
  /* Build into a new output; the job's worker has planned. 0 or negative. */
  int (*start_build)(void *ctx, struct oc_flow_job *j);
  /* Start the runner. 0 or negative. */
  int (*start_run)(void *ctx, struct oc_flow_job *j);
  /* The worker is not needed any more: Release it, or kill it when it works (`kill`).
   * Nothing may be reported for this job's worker or runner afterwards. */
  void (*end_work)(void *ctx, struct oc_flow_job *j, bool kill);
  /* True when the store has an object with the job's plan key. */
  bool (*object_known)(void *ctx, struct oc_flow_job *j);
  /* Ask other machines for the result, or with `plan` for the bytes of its plan key. 1:
   * oc_flow_fetched() will follow, perhaps oc_flow_fetch_slow() before; 0: there is
   * nobody to ask. */
  int (*fetch)(void *ctx, struct oc_flow_job *j, bool plan);
  /* Make the result ready for answers. 1: it is; 0: oc_flow_published() will follow;
   * negative: failed. `twin` is the job that built the bytes (OC_SOURCE_TWIN only). */
  int (*publish)(void *ctx, struct oc_flow_job *j, enum oc_source source,
                 struct oc_flow_job *twin);
  /* Begin storing; the waiters have their answers. 1: nothing to store or done at once,
   * 0: oc_flow_stored() will follow. */
  int (*store)(void *ctx, struct oc_flow_job *j);
  void (*answer)(void *ctx, struct oc_flow_job *j, const struct oc_waiter *w,
                 enum oc_answer how);
  /* The waiter now waits for job `to`. */
  void (*moved)(void *ctx, struct oc_flow_job *from, struct oc_flow_job *to,
                const struct oc_waiter *w);
  /* Told after every move: for progress and the log. */
  void (*changed)(void *ctx, struct oc_flow_job *j, enum oc_job_state from);
  /* A worker of this job is gone and the job goes on. */
  void (*retrying)(void *ctx, struct oc_flow_job *j, enum oc_failure why);
  /* The job leaves the table; `data` is the caller's to free. */
  void (*forget)(void *ctx, struct oc_flow_job *j);
};

struct oc_flow_limits {
  unsigned slots;        /* jobs with a worker or a compiler at one time, >= 1 */
  unsigned max_jobs;     /* jobs in the table */
  unsigned max_per_uid;  /* jobs in the table of one uid */
  unsigned max_attempts; /* workers tried per job, 2 */
  uint64_t orphan_grace_ns;
  uint64_t
      plan_limit_ns; /* 0: none; also the time to wait for a client's external files */
  uint64_t build_limit_ns;
  uint64_t run_limit_ns;
};

struct oc_flow;

/* Job ids count up from `first_id`. NULL when memory is short. */
struct oc_flow *oc_flow_new(const struct oc_flow_limits *limits,
                            const struct oc_flow_effects *effects, void *ctx,
                            uint64_t first_id);
/* Every job must be over (oc_flow_n_jobs() == 0), or is forgotten without an answer. */
void oc_flow_free(struct oc_flow *f);

struct oc_flow_order {
  uint32_t uid;
  enum oc_want want;
  bool uses_tool; /* backend atc: the run follows the plan, and a failed plan stops
                     nothing */
  struct oc_waiter waiter;
  void *data;
};

/* ---------------------------------------------------------------- events, all with the
 * time */

/* A new job in READING. 0; OC_E_LIMIT when the table or the uid's share is full;
 * OC_E_CLOSED while draining; OC_E_NOMEM. */
int oc_flow_open(struct oc_flow *f, uint64_t now_ns, const struct oc_flow_order *order,
                 uint64_t *ret_id);
/* READING: let a worker plan before the key is known. `must`: queue for a slot when none
 * is free (the inputs list is not known without it); otherwise only when one is free. */
void oc_flow_scout(struct oc_flow *f, uint64_t now_ns, uint64_t id, bool must);
/* READING: what the scout was for is known; its worker is ended. */
void oc_flow_scouted(struct oc_flow *f, uint64_t now_ns, uint64_t id);
/* READING: all inputs are digested and the look-up missed. `key` NULL: uncached, joins
 * nobody. Returns the job that has the waiters now (another one when they joined), 0
 * when everything is over already. */
uint64_t oc_flow_keyed(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                       const uint8_t key[32]);
/* READING: the look-up hit and the caller answered. */
void oc_flow_hit(struct oc_flow *f, uint64_t now_ns, uint64_t id);

/* The job need not wait for what is being fetched; whatever is there first is used. */
void oc_flow_fetch_slow(struct oc_flow *f, uint64_t now_ns, uint64_t id);
/* The end of fetch(). `found`: publish() will be called with OC_SOURCE_REMOTE and must
 * not fail; `plan_key` (NULL: unknown) is that of the bytes. False: the job has bytes
 * already, or is over, and what was found is of no use. */
bool oc_flow_fetched(struct oc_flow *f, uint64_t now_ns, uint64_t id, bool found,
                     const uint8_t plan_key[32]);

/* The worker planned. `plan_key` NULL: equal bytes are not promised. `ok` false: Build is
 * forbidden by an error finding (the run of a tool is not). */
void oc_flow_planned(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                     const uint8_t plan_key[32], bool ok);
/* The worker could not plan and has ended. */
void oc_flow_unplanned(struct oc_flow *f, uint64_t now_ns, uint64_t id);
/* The output is complete, the worker or runner has ended. */
void oc_flow_built(struct oc_flow *f, uint64_t now_ns, uint64_t id);
/* `ok` false: the output is not usable; for an object of the store it is built after all.
 */
void oc_flow_published(struct oc_flow *f, uint64_t now_ns, uint64_t id, bool ok);
void oc_flow_stored(struct oc_flow *f, uint64_t now_ns, uint64_t id);
/* The worker or runner has ended without a result. */
void oc_flow_failed(struct oc_flow *f, uint64_t now_ns, uint64_t id, enum oc_failure why);
/* The order itself cannot go on (an input cannot be read, a file is missing): its worker
 * is ended, nothing is tried again. */
void oc_flow_give_up(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                     enum oc_failure why);

/* A connection ended: its waiters leave every job. */
void oc_flow_session_gone(struct oc_flow *f, uint64_t now_ns, uint64_t session);
/* The waiter goes and wants the job to live. False: it does not wait for this job. */
bool oc_flow_detach(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                    const struct oc_waiter *w);
/* The waiter wants no result; with no other waiter the job stops at once. It is answered.
 */
bool oc_flow_cancel(struct oc_flow *f, uint64_t now_ns, uint64_t id,
                    const struct oc_waiter *w);

/* Deadlines that have passed. Call at oc_flow_next_deadline(). */
void oc_flow_tick(struct oc_flow *f, uint64_t now_ns);
/* UINT64_MAX when nothing is due. */
uint64_t oc_flow_next_deadline(const struct oc_flow *f);

/* No new jobs; those in the table go on. */
void oc_flow_drain(struct oc_flow *f);
/* Drain, and stop whatever is not being stored already. */
void oc_flow_stop(struct oc_flow *f, uint64_t now_ns);

/* ---------------------------------------------------------------- looking */

size_t oc_flow_n_jobs(const struct oc_flow *f);
size_t oc_flow_n_in(const struct oc_flow *f, enum oc_job_state s);
unsigned oc_flow_n_busy(const struct oc_flow *f); /* slots in use */
bool oc_flow_draining(const struct oc_flow *f);
/* NULL when there is no such job (any more). */
struct oc_flow_job *oc_flow_job(const struct oc_flow *f, uint64_t id);
/* All jobs in order of their ids: start with NULL. */
struct oc_flow_job *oc_flow_next_job(const struct oc_flow *f,
                                     const struct oc_flow_job *after);

uint64_t oc_flow_job_id(const struct oc_flow_job *j);
enum oc_job_state oc_flow_job_state(const struct oc_flow_job *j);
void *oc_flow_job_data(const struct oc_flow_job *j);
uint32_t oc_flow_job_uid(const struct oc_flow_job *j);
enum oc_failure oc_flow_job_failure(const struct oc_flow_job *j);
unsigned oc_flow_job_attempts(const struct oc_flow_job *j);
/* A tool's order: no plan will come (any more). */
bool oc_flow_job_plan_over(const struct oc_flow_job *j);
size_t oc_flow_job_n_waiters(const struct oc_flow_job *j);
const struct oc_waiter *oc_flow_job_waiter(const struct oc_flow_job *j, size_t i);
/* The 32 bytes, or NULL before they are known. */
const uint8_t *oc_flow_job_key(const struct oc_flow_job *j);
const uint8_t *oc_flow_job_plan_key(const struct oc_flow_job *j);

#endif
