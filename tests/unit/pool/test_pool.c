/* The pool with a fake worker: leases, deaths, restarts, and an empty loop at the end. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pool/pool.h"

#define GIVE_UP_MS 120000

static uv_loop_t loop;
static uv_timer_t give_up;
static struct oc_pool *pool;
static struct oc_pool_table tables; /* the pool borrows it for its life */
static struct oc_log log_ = { .fd = -1 };
static char jobs_dir[] = "/tmp/omcc-test-pool-XXXXXX";

/* What happened, as words. */
static char story[4096];
static int wanted; /* events until the loop stops */
static struct oc_death last_death;
static char last_tail[512];

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
  size_t len = strlen(story);
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(story + len, sizeof(story) - len, fmt, ap);
  va_end(ap);
  if (!--wanted)
    uv_stop(&loop);
}

static void on_worker(void *ctx, uint64_t job, const Omcc__V1__FromWorker *m,
                      struct oc_frame *f)
{
  static const char *const words[] = { [OMCC__V1__FROM_WORKER__BODY_INPUTS] = "inputs",
                                       [OMCC__V1__FROM_WORKER__BODY_PLANNED] = "planned",
                                       [OMCC__V1__FROM_WORKER__BODY_UNPLANNED] =
                                           "unplanned",
                                       [OMCC__V1__FROM_WORKER__BODY_BUILT] = "built",
                                       [OMCC__V1__FROM_WORKER__BODY_FAILED] = "failed" };

  (void)ctx;
  ck_assert(m->body_case != OMCC__V1__FROM_WORKER__BODY_PLANNED || f->n_fds == 1);
  tell("%lu %s, ", (unsigned long)job, words[m->body_case]);
}

static void keep_death(const struct oc_death *how)
{
  last_death = *how;
  snprintf(last_tail, sizeof(last_tail), "%s", how->tail);
}

static void on_worker_died(void *ctx, uint64_t job, const struct oc_death *how)
{
  (void)ctx;
  keep_death(how);
  tell("%lu died, ", (unsigned long)job);
}

static void on_runner(void *ctx, uint64_t job, const Omcc__V1__FromRunner *m,
                      struct oc_frame *f)
{
  (void)ctx;
  (void)f;
  if (m->body_case == OMCC__V1__FROM_RUNNER__BODY_OUTPUT)
    tell("%lu '%.*s', ", (unsigned long)job, (int)m->output->data.len - 1,
         (const char *)m->output->data.data);
  else
    tell("%lu done %d, ", (unsigned long)job, m->done->exit_status);
}

static void on_runner_died(void *ctx, uint64_t job, const struct oc_death *how)
{
  (void)ctx;
  keep_death(how);
  tell("%lu runner died, ", (unsigned long)job);
}

static void on_ready(void *ctx, const Omcc__V1__Ready *ready)
{
  (void)ctx;
  tell("ready%s%s, ", *ready->error ? " " : "", ready->error);
}

static const struct oc_pool_events events = { on_worker, on_worker_died, on_runner,
                                              on_runner_died, on_ready };

static void out_of_time(uv_timer_t *t)
{
  (void)t;
  ck_abort_msg("nothing happened any more after: %s", story);
}

/* Runs until `n` more events came, then compares and forgets the story. */
static void expect(int n, const char *text)
{
  wanted = n;
  uv_run(&loop, UV_RUN_DEFAULT);
  ck_assert_str_eq(story, text);
  story[0] = '\0';
}

static int memfd_of(const char *text)
{
  int fd = memfd_create("script", MFD_CLOEXEC);

  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  return fd;
}

static void open_with(const char *table)
{
  char path[4096];
  struct oc_pool_options o = { .loop = &loop,
                               .log = &log_,
                               .events = &events,
                               .runner_path = path,
                               .jobs_dir = jobs_dir,
                               .tables = &tables,
                               .n_tables = 1,
                               .ahead = 2,
                               .nofile = { 256, 256 } };
  struct oc_error err = { 0 };

  tables = (struct oc_pool_table){ table, memfd_of("x") };
  snprintf(path, sizeof(path), "%s/bin/fake-worker", getenv("OMCC_BINARY_DIR"));
  o.worker_fd = open(path, O_RDONLY | O_CLOEXEC);
  ck_assert_int_ge(o.worker_fd, 0);
  ck_assert_msg(!oc_pool_open(&o, &pool, &err), "%s", err.msg);
  close(o.worker_fd);
}

static void setup(void)
{
  uv_loop_init(&loop);
  uv_timer_init(&loop, &give_up);
  uv_timer_start(&give_up, out_of_time, GIVE_UP_MS, 0);
  memcpy(jobs_dir + sizeof(jobs_dir) - 7, "XXXXXX", 7);
  ck_assert_ptr_nonnull(mkdtemp(jobs_dir));
  story[0] = '\0';
  wanted = 0;
}

static void on_closed(void *ctx)
{
  *(bool *)ctx = true;
}

/* The promise of every test here: nothing is left in the loop. */
static void teardown(void)
{
  bool closed = false;

  oc_pool_close(pool, on_closed, &closed);
  uv_close((uv_handle_t *)&give_up, NULL);
  uv_run(&loop, UV_RUN_DEFAULT);
  ck_assert(closed);
  ck_assert_int_eq(uv_loop_close(&loop), 0);
  close(tables.fd);
  oc_pool_clear_jobs(jobs_dir);
  ck_assert_int_ne(access(jobs_dir, F_OK), 0);
}

static int lease(uint64_t job, const char *script)
{
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Plan plan = OMCC__V1__PLAN__INIT;
  Omcc__V1__File file = OMCC__V1__FILE__INIT, *files[] = { &file };
  struct oc_error err = { 0 };
  int fd = memfd_of(script), r;

  file.flag = (char *)"model";
  plan.job = job;
  plan.files = files;
  plan.n_files = 1;
  m.body_case = OMCC__V1__TO_WORKER__BODY_PLAN;
  m.plan = &plan;
  r = oc_pool_lease(pool, job, &m, &fd, 1, &err);
  close(fd);
  return r;
}

static int build(uint64_t job, int *ret_fd)
{
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Build b = OMCC__V1__BUILD__INIT;

  *ret_fd = memfd_of("");
  m.body_case = OMCC__V1__TO_WORKER__BODY_BUILD;
  m.build = &b;
  return oc_pool_tell(pool, job, &m, ret_fd, 1, NULL);
}

static size_t workers_in(const char *state)
{
  struct oc_pool_worker w[16];
  size_t n = oc_pool_workers(pool, w, 16), in = 0;

  for (size_t i = 0; i < n; i++)
    in += !strcmp(w[i].state, state);
  return in;
}

START_TEST(a_lease_plans_and_builds)
{
  char bytes[16] = "";
  int fd;

  open_with("soc/a.yaml");
  ck_assert_int_eq(lease(7, "artifact abc\n"), 0);
  expect(3, "ready, 7 inputs, 7 planned, ");
  ck_assert_uint_eq(workers_in("planned"), 1);
  ck_assert_int_eq(build(7, &fd), 0);
  expect(1, "7 built, ");
  ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 7);
  ck_assert_str_eq(bytes, "IMODabc");
  ck_assert_int_lt(build(7, &fd), 0);
}
END_TEST

START_TEST(more_leases_than_children_wait_their_turn)
{
  open_with("soc/a.yaml");
  for (uint64_t i = 1; i <= 5; i++)
    ck_assert_int_eq(lease(i, "unplanned x\n"), 0);
  wanted = 11;
  uv_run(&loop, UV_RUN_DEFAULT);
  for (int i = 1; i <= 5; i++) {
    char text[32];

    snprintf(text, sizeof(text), "%d unplanned, ", i);
    ck_assert_msg(strstr(story, text) != NULL, "%s in %s", text, story);
  }
}
END_TEST

START_TEST(a_crash_is_told_with_signal_and_last_words)
{
  open_with("soc/a.yaml");
  ck_assert_int_eq(lease(7, "stderr about to go\ndie plan\n"), 0);
  expect(3, "ready, 7 inputs, 7 died, ");
  ck_assert_int_eq(last_death.signal, SIGABRT);
  ck_assert_int_ne(last_death.pid, 0);
  ck_assert_ptr_nonnull(strstr(last_tail, "about to go"));
}
END_TEST

START_TEST(an_exit_without_an_answer_is_a_death)
{
  open_with("soc/a.yaml");
  ck_assert_int_eq(lease(7, "exit plan 9\n"), 0);
  expect(3, "ready, 7 inputs, 7 died, ");
  ck_assert_int_eq(last_death.signal, 0);
  ck_assert_int_eq(last_death.exit_code, 9);
}
END_TEST

START_TEST(a_released_lease_says_nothing_more)
{
  open_with("soc/a.yaml");
  ck_assert_int_eq(lease(7, "sleep plan 60000\n"), 0);
  expect(2, "ready, 7 inputs, ");
  oc_pool_release(pool, 7, true);
  ck_assert_int_eq(lease(8, "unplanned x\n"), 0);
  expect(2, "8 inputs, 8 unplanned, ");
  /* Also one that still waits for a child. */
  ck_assert_int_eq(lease(9, "unplanned x\n"), 0);
  oc_pool_release(pool, 9, false);
  ck_assert_int_eq(lease(10, "unplanned x\n"), 0);
  expect(2, "10 inputs, 10 unplanned, ");
}
END_TEST

START_TEST(children_are_forked_ahead)
{
  open_with("soc/a.yaml");
  expect(1, "ready, ");
  ck_assert_int_eq(lease(7, "sleep plan 100\n"), 0);
  expect(2, "7 inputs, 7 planned, ");
  ck_assert_uint_eq(workers_in("waiting") + workers_in("starting"), 2);
}
END_TEST

static uint32_t zygote_pid(void)
{
  struct oc_pool_worker w[16];
  size_t n = oc_pool_workers(pool, w, 16);
  char path[64], text[256] = "";
  FILE *f;
  uint32_t pid;
  int parent = 0;

  ck_assert_uint_gt(n, 0);
  pid = w[0].pid;
  snprintf(path, sizeof(path), "/proc/%u/stat", pid);
  f = fopen(path, "re");
  ck_assert_ptr_nonnull(f);
  ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
  fclose(f);
  ck_assert_int_eq(sscanf(strrchr(text, ')') + 2, "%*c %d", &parent), 1);
  return (uint32_t)parent;
}

START_TEST(a_zygote_that_dies_is_started_again)
{
  open_with("soc/a.yaml");
  ck_assert_int_eq(lease(7, "sleep plan 60000\n"), 0);
  expect(2, "ready, 7 inputs, ");
  ck_assert_int_eq(kill((pid_t)zygote_pid(), SIGKILL), 0);
  expect(2, "7 died, ready, ");
  ck_assert_int_eq(lease(8, "unplanned x\n"), 0);
  expect(2, "8 inputs, 8 unplanned, ");
}
END_TEST

START_TEST(broken_tables_are_said_and_leases_refused)
{
  open_with("soc/broken.yaml");
  ck_assert_int_eq(lease(7, "x\n"), 0);
  expect(2, "ready table 'soc/broken.yaml' is broken, 7 died, ");
  ck_assert_str_eq(last_tail, "table 'soc/broken.yaml' is broken");
  ck_assert_int_lt(lease(8, "x\n"), 0);
}
END_TEST

START_TEST(a_worker_that_never_starts_does_not_hold_jobs_for_ever)
{
  open_with("soc/dies.yaml");
  ck_assert_int_eq(lease(7, "x\n"), 0);
  expect(1, "7 died, ");
  ck_assert_str_eq(last_tail, "the worker program does not start");
}
END_TEST

static int run(uint64_t job, const char *script)
{
  Omcc__V1__Run m = OMCC__V1__RUN__INIT;
  Omcc__V1__File file = OMCC__V1__FILE__INIT, *files[] = { &file };
  int fd = memfd_of(script), r;

  m.files = files;
  m.n_files = 1;
  r = oc_pool_run(pool, job, &m, &fd, 1, NULL);
  close(fd);
  return r;
}

START_TEST(a_run_has_a_directory_and_an_end)
{
  open_with("soc/a.yaml");
  expect(1, "ready, ");
  ck_assert_int_eq(run(7, "say hello\nsay again\nstatus 3\n"), 0);
  expect(3, "7 'hello', 7 'again', 7 done 3, ");
}
END_TEST

START_TEST(a_runner_that_dies_is_told)
{
  open_with("soc/a.yaml");
  expect(1, "ready, ");
  ck_assert_int_eq(run(7, "say hello\ndie run\n"), 0);
  expect(2, "7 'hello', 7 runner died, ");
  ck_assert_int_eq(last_death.signal, SIGABRT);
}
END_TEST

START_TEST(a_stopped_run_says_nothing_more)
{
  open_with("soc/a.yaml");
  expect(1, "ready, ");
  ck_assert_int_eq(run(7, "sleep run 60000\n"), 0);
  oc_pool_stop_run(pool, 7);
  ck_assert_int_eq(run(8, "say hello\n"), 0);
  expect(2, "8 'hello', 8 done 0, ");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("pool");
  TCase *c = tcase_create("processes");
  SRunner *r;
  int failed;

  tcase_set_timeout(c, 60);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, a_lease_plans_and_builds);
  tcase_add_test(c, more_leases_than_children_wait_their_turn);
  tcase_add_test(c, a_crash_is_told_with_signal_and_last_words);
  tcase_add_test(c, an_exit_without_an_answer_is_a_death);
  tcase_add_test(c, a_released_lease_says_nothing_more);
  tcase_add_test(c, children_are_forked_ahead);
  tcase_add_test(c, a_zygote_that_dies_is_started_again);
  tcase_add_test(c, broken_tables_are_said_and_leases_refused);
  tcase_add_test(c, a_worker_that_never_starts_does_not_hold_jobs_for_ever);
  tcase_add_test(c, a_run_has_a_directory_and_an_end);
  tcase_add_test(c, a_runner_that_dies_is_told);
  tcase_add_test(c, a_stopped_run_says_nothing_more);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
