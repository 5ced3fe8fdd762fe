/* One job from the command line to its result: connect, submit, wait.
 *
 * Ctrl-C once detaches after a moment in which a second one cancels; a termination signal
 * leaves without a word to the daemon, which takes it as a waiter that left. When a
 * private daemon dies under the job it is started again and the job submitted once more.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/cli.h"

/* Between the first ctrl-c and leaving: time for the second. */
#define DETACH_MS 1500
#define TICK_MS   100

static int connect_to(struct cli *cli, enum omcc_start start, bool early,
                      struct omcc **ret, struct omcc_error *err)
{
  struct omcc_options options = { .size = sizeof(options),
                                  .start = start,
                                  .early = early };
  struct omcc_peer peer;
  int rc = omcc_connect(&options, ret, err);

  if (rc < 0)
    return rc;
  omcc_peer(*ret, &peer);
  if (peer.started && cli->verbose)
    cli_note(cli, "started a daemon, pid %u, at '%s'", peer.pid, peer.socket);
  if (peer.started && !getenv("HOME"))
    oc_finding_add(&cli->findings, OC_FINDING_NO_HOME, peer.socket, NULL);
  return 0;
}

int cli_connect(struct cli *cli, enum omcc_start start, struct omcc **ret,
                struct omcc_error *err)
{
  return connect_to(cli, start, false, ret, err);
}

static void on_progress(void *user, struct omcc_job *job, const struct omcc_progress *p)
{
  struct cli_job *j = user;

  (void)job;
  cli_progress_update(j->progress, p);
}

static void on_output(void *user, struct omcc_job *job, bool is_stderr, const void *data,
                      size_t len)
{
  struct cli_job *j = user;
  struct oc_buf text;

  (void)job;
  j->output_seen = true;
  cli_progress_clear(j->progress);
  cli_buf(&text);
  oc_buf_append(&text, data, len);
  cli_out(is_stderr || j->cli->json ? STDERR_FILENO : STDOUT_FILENO, &text);
}

static void on_finished(void *user, struct omcc_job *job,
                        const struct omcc_result *result)
{
  struct cli_job *j = user;

  (void)job;
  j->result = result;
}

static int submit(struct cli_job *j, enum omcc_want want, struct omcc_error *err)
{
  static const struct omcc_callbacks on = { .size = sizeof(on),
                                            .progress = on_progress,
                                            .output = on_output,
                                            .finished = on_finished };
  struct cli *cli = j->cli;
  struct omcc_request r = { .size = sizeof(r),
                            .want = want,
                            .backend = cli->backend,
                            .strict_lists = oc_flags_true(&cli->flags, "strict_lists"),
                            .relabel = oc_flags_true(&cli->flags, "relabel"),
                            .verbose = cli->verbose,
                            .stop_at = getenv("OMCC_STOP_AT"),
                            .cached_only = oc_flags_true(&cli->flags, "cached_only"),
                            .link = oc_flags_true(&cli->flags, "link"),
                            .report_inline = true };
  struct omcc_flag *flags = OC_NEW_N(&cli->arena, struct omcc_flag, cli->flags.n + 1);

  for (size_t i = 0; flags && i < cli->flags.n; i++) {
    const struct oc_flag *f = &cli->flags.items[i];

    /* Ours that concern the compile itself travel with it. */
    if (!f->info || !f->info->ours || f->info->uncached)
      flags[r.n_flags++] = (struct omcc_flag){ f->name, f->value };
  }
  r.flags = flags;
  return omcc_submit(j->c, &r, &on, j, &j->job, err);
}

static int64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 0 to go on, else the exit status. */
static int follow_signals(struct cli_job *j, int64_t *detach_at, bool *cancelled)
{
  struct omcc_error err;

  if (cli_terminated())
    return 128 + cli_terminated();
  if (cli_interrupts() >= 2 && !*cancelled) {
    *cancelled = true;
    cli_progress_clear(j->progress);
    cli_note(j->cli, "cancelled");
    (void)omcc_job_cancel(j->job, &err);
    *detach_at = now_ms() + DETACH_MS; /* the answer may still come */
  } else if (cli_interrupts() == 1 && !*detach_at) {
    *detach_at = now_ms() + DETACH_MS;
    cli_progress_clear(j->progress);
    cli_note(j->cli, "detaching; ctrl-c again cancels the job");
  }
  if (!*detach_at || now_ms() < *detach_at)
    return 0;
  if (!*cancelled && omcc_job_detach(j->job, &err) == 0)
    cli_note(j->cli, "job %llu goes on; the same command waits for it again",
             (unsigned long long)omcc_job_id(j->job));
  return 130;
}

static int wait_for_result(struct cli_job *j, const char *schema)
{
  struct omcc_error err = { 0 };
  int64_t detach_at = 0;
  bool cancelled = false;
  struct omcc_peer peer;

  while (!j->result) {
    int rc = omcc_wait(j->c, TICK_MS, &err);
    int status = follow_signals(j, &detach_at, &cancelled);

    if (status) {
      cli_progress_clear(j->progress);
      return status;
    }
    cli_progress_tick(j->progress);
    if (rc == OMCC_E_CLOSED && !j->result && !detach_at) {
      cli_progress_clear(j->progress);
      omcc_peer(j->c, &peer);
      if (peer.pid) /* else it was leaving already when we came */
        cli_note(j->cli, "the daemon went away, trying once more");
      rc = omcc_reconnect(j->c, &err);
    }
    if (rc < 0 && !j->result) {
      cli_progress_clear(j->progress);
      return detach_at ? 130 : cli_fail(j->cli, schema, &err);
    }
  }
  cli_progress_clear(j->progress);
  return cancelled ? 130 : 0;
}

static void unpack_finished(struct cli_job *j)
{
  ProtobufCMessage *m;

  if (!oc_message_unpack(&omcc__v1__finished__descriptor, j->result->message_bytes,
                         j->result->message_len, &j->cli->arena, &m, NULL))
    j->finished = (const Omcc__V1__Finished *)m;
  for (size_t i = 0; j->finished && i < j->finished->n_findings; i++)
    oc_finding_from_message(j->finished->findings[i], &j->cli->findings);
}

/* The report out of its mapping, with the ops or without. */
static void unpack_report(struct cli_job *j, const void *map, size_t len, bool ops)
{
  struct oc_arena *arena = &j->cli->arena;
  Omcc__V1__Report *brief;
  ProtobufCMessage *m;

  if (ops && !oc_message_unpack(&omcc__v1__report__descriptor, map, len, arena, &m, NULL))
    j->report = (const Omcc__V1__Report *)m;
  if (!ops && !oc_report_unpack_brief(map, len, arena, &brief, NULL))
    j->report = brief;
}

/* A report that came as a file. */
static void map_report(struct cli_job *j, bool ops)
{
  struct stat st;
  void *map;

  if (fstat(j->result->report_fd, &st) || st.st_size <= 0 ||
      (uint64_t)st.st_size > OC_MAX_REPORT)
    return;
  map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, j->result->report_fd, 0);
  if (map == MAP_FAILED)
    return;
  unpack_report(j, map, (size_t)st.st_size, ops);
  munmap(map, (size_t)st.st_size);
}

void cli_read_report(struct cli_job *j, bool ops)
{
  if (j->result->report)
    unpack_report(j, j->result->report, j->result->report_len, ops);
  else if (j->result->report_fd >= 0)
    map_report(j, ops);
  for (size_t i = 0; j->report && i < j->report->n_findings; i++)
    oc_finding_from_message(j->report->findings[i], &j->cli->findings);
}

int cli_run_job(struct cli *cli, enum omcc_want want, enum omcc_start start,
                const char *schema, struct cli_job *ret)
{
  struct omcc_error err = { 0 };
  int rc;

  *ret = (struct cli_job){ .cli = cli };
  rc = connect_to(cli, start, true, &ret->c, &err);
  if (rc < 0)
    return cli_fail(cli, schema, &err);
  cli_catch_signals();
  rc = submit(ret, want, &err);
  if (rc < 0)
    return cli_fail(cli, schema, &err);
  ret->progress = cli_progress_new(cli);
  rc = wait_for_result(ret, schema);
  if (rc)
    return rc;
  cli_find_places(cli, ret->job);
  unpack_finished(ret);
  return 0;
}

void cli_close_job(struct cli_job *j)
{
  if (j->c)
    omcc_close(j->c);
  j->c = NULL;
}
