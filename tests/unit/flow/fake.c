/* Effects as words in a buffer. Every word names the job, so that a test reads like the
 * story of a request. */
#include "fake.h"

#include <string.h>

const struct oc_flow_limits fake_limits = { .slots = 2,
                                            .max_jobs = 50,
                                            .max_per_uid = 20,
                                            .max_attempts = 2,
                                            .plan_limit_ns = 10 * SECOND,
                                            .build_limit_ns = 20 * SECOND,
                                            .run_limit_ns = 30 * SECOND };

static void say(struct fake *k, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct fake *k, const char *fmt, ...)
{
  va_list ap;

  if (k->quiet)
    return;
  va_start(ap, fmt);
  if (k->log.len)
    oc_buf_puts(&k->log, ", ");
  oc_buf_vprintf(&k->log, fmt, ap);
  va_end(ap);
}

static unsigned long id(const struct oc_flow_job *j)
{
  return oc_flow_job_id(j);
}

static int start_plan(void *ctx, struct oc_flow_job *j)
{
  struct fake *k = ctx;

  say(k, "plan %lu", id(j));
  k->working += k->plan_result >= 0;
  return k->plan_result;
}

static int start_build(void *ctx, struct oc_flow_job *j)
{
  struct fake *k = ctx;

  say(k, "build %lu", id(j));
  k->working -= k->build_result < 0;
  return k->build_result;
}

static int start_run(void *ctx, struct oc_flow_job *j)
{
  struct fake *k = ctx;

  say(k, "run %lu", id(j));
  k->working += k->run_result >= 0;
  return k->run_result;
}

static void end_work(void *ctx, struct oc_flow_job *j, bool kill)
{
  struct fake *k = ctx;

  say(k, "%s %lu", kill ? "kill" : "release", id(j));
  k->working--;
}

static bool object_known(void *ctx, struct oc_flow_job *j)
{
  struct fake *k = ctx;

  ck_assert_ptr_nonnull(oc_flow_job_plan_key(j));
  return k->object_known;
}

static int fetch(void *ctx, struct oc_flow_job *j, bool plan)
{
  struct fake *k = ctx;

  ck_assert_ptr_nonnull(oc_flow_job_key(j));
  if (k->fetch_result)
    say(k, "fetch %lu%s", id(j), plan ? " plan" : "");
  return k->fetch_result;
}

static int publish(void *ctx, struct oc_flow_job *j, enum oc_source source,
                   struct oc_flow_job *twin)
{
  static const char *const words[] = { "built", "object", "twin", "remote" };
  struct fake *k = ctx;

  ck_assert((source == OC_SOURCE_TWIN) == (twin != NULL));
  say(k, "publish %lu %s", id(j), words[source]);
  return source == OC_SOURCE_REMOTE && k->publish_result < 0 ? 0 : k->publish_result;
}

static int store(void *ctx, struct oc_flow_job *j)
{
  struct fake *k = ctx;

  say(k, "store %lu", id(j));
  return k->store_result;
}

static void answer(void *ctx, struct oc_flow_job *j, const struct oc_waiter *w,
                   enum oc_answer how)
{
  static const char *const words[] = { "result",    "joined", "hit",
                                       "explained", "failed", "stopped" };
  struct fake *k = ctx;

  k->n_answers++;
  say(k, "answer %lu %lu %s", id(j), (unsigned long)w->request, words[how]);
}

static void moved(void *ctx, struct oc_flow_job *from, struct oc_flow_job *to,
                  const struct oc_waiter *w)
{
  say(ctx, "move %lu to %lu request %lu", id(from), id(to), (unsigned long)w->request);
}

static void changed(void *ctx, struct oc_flow_job *j, enum oc_job_state from)
{
  (void)ctx;
  ck_assert(from != oc_flow_job_state(j));
}

static void retrying(void *ctx, struct oc_flow_job *j, enum oc_failure why)
{
  say(ctx, "retry %lu %s", id(j), oc_failure_name(why));
}

static void forget(void *ctx, struct oc_flow_job *j)
{
  struct fake *k = ctx;

  k->n_forgotten++;
  say(k, "forget %lu", id(j));
}

void fake_open(struct fake *k, const struct oc_flow_limits *limits)
{
  static const struct oc_flow_effects effects = {
    start_plan, start_build, start_run, end_work, object_known, fetch, publish,
    store,      answer,      moved,     changed,  retrying,     forget
  };

  memset(k, 0, sizeof(*k));
  oc_buf_init(&k->log, 1 << 20);
  k->now = SECOND;
  k->flow = oc_flow_new(limits, &effects, k, 1);
  ck_assert_ptr_nonnull(k->flow);
}

void fake_close(struct fake *k)
{
  oc_flow_free(k->flow);
  oc_buf_clear(&k->log);
}

void fake_expect(struct fake *k, const char *log)
{
  ck_assert_str_eq(oc_buf_str(&k->log), log);
  oc_buf_reset(&k->log);
  ck_assert_msg(!flow_check(k->flow), "%s", flow_check(k->flow));
}

uint64_t fake_job_as(struct fake *k, const struct oc_flow_order *order)
{
  uint64_t ret = 0;

  ck_assert_int_eq(oc_flow_open(k->flow, k->now, order, &ret), 0);
  k->n_opened++;
  return ret;
}

uint64_t fake_job(struct fake *k, uint32_t uid, uint64_t request)
{
  struct oc_flow_order order = { .uid = uid,
                                 .waiter = { .session = uid, .request = request } };

  return fake_job_as(k, &order);
}

const uint8_t *fake_key(uint8_t byte)
{
  static uint8_t keys[256][32];

  memset(keys[byte], byte, sizeof(keys[byte]));
  return keys[byte];
}
