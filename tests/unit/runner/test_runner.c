/* The runner against the stand-in compiler and small scripts: results, lines, limits, and
 * that nothing it started is left two seconds after anybody stops wanting it. */
#include "daemon.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "om/om.h"
#include "runner/runner_internal.h"

#define ONNX                                                                             \
  .flags = { "model=/home/user/net.onnx", "framework=5", "soc_version=Ascend310P3",      \
             "output=/home/user/out/net" },                                              \
  .files = { { "model", "/home/user/net.onnx", "model bytes" } }

static const char success[] = "ATC start working now, please wait for a moment.\n...\n"
                              "ATC run success, welcome to the next use.\n\n";

static void run(struct runner *r, const struct order *o)
{
  runner_start(r, o);
  runner_wait(r, PATIENCE_MS);
  ck_assert_msg(r->done, "the run has not ended");
  ck_assert_int_eq(runner_exit(r, PATIENCE_MS), 0);
  ck_assert(processes_gone(r, 0));
}

START_TEST(a_run_that_succeeds)
{
  static const struct order o = { ONNX };
  struct runner a, b;
  size_t len_a = 0, len_b = 0;

  run(&a, &o);
  ck_assert_str_eq(a.error, "");
  ck_assert_int_eq(a.exit_status, 0);
  ck_assert_uint_eq(a.signal, 0);
  ck_assert_str_eq(oc_buf_str(&a.out), success);
  ck_assert_str_eq(oc_buf_str(&a.err), "");
  ck_assert_uint_eq(a.n_members, 1);
  ck_assert_str_eq(a.members[0].name, "model.om");
  ck_assert_str_eq(a.members[0].kind, "artifact");
  ck_assert_uint_eq(a.members[0].mode, 0600);
  ck_assert_uint_gt(a.peak_rss_bytes, 0);
  auto_free char *x = read_fd(a.members[0].fd, &len_a);
  ck_assert_uint_eq(len_a, a.members[0].size);
  /* Neither the user's names nor the job's directory are inside. */
  ck_assert_ptr_null(memmem(x, len_a, "/home/user", 10));
  ck_assert_ptr_null(memmem(x, len_a, "net.onnx", 8));
  ck_assert_ptr_null(memmem(x, len_a, a.dir, strlen(a.dir)));
  run(&b, &o);
  auto_free char *y = read_fd(b.members[0].fd, &len_b);
  ck_assert_uint_eq(len_a, len_b);
  ck_assert_mem_eq(x, y, len_a);
  runner_clear(&a);
  runner_clear(&b);
}
END_TEST

START_TEST(the_stand_in_writes_om_files)
{
  static const struct order o = { ONNX };
  struct oc_om_source source;
  struct oc_om_info *info = NULL;
  struct oc_error err = { 0 };
  struct oc_arena arena;
  struct runner r;

  oc_arena_init(&arena, 0);
  run(&r, &o);
  ck_assert_int_eq(oc_om_source_fd(r.members[0].fd, &source, &err), 0);
  ck_assert_msg(oc_om_inspect(source, &arena, &info, &err) == 0, "%s", err.msg);
  ck_assert_str_eq(info->file->header.name, "model");
  ck_assert(!info->builtin);
  ck_assert_uint_eq(info->views[0].def->graphs[0].n_ops, 2);
  oc_arena_clear(&arena);
  runner_clear(&r);
}
END_TEST

START_TEST(side_files)
{
  static const struct order o = {
    .flags = { "model=m.onnx", "framework=5", "soc_version=Ascend310P3", "output=m",
               "external_weight=1" },
    .files = { { "model", "m.onnx", "model bytes" } },
    .env = { "FAKE_DYNAMIC=1" },
  };
  struct runner r;

  run(&r, &o);
  ck_assert_uint_eq(r.n_members, 2);
  ck_assert_str_eq(r.members[0].name, "model_linux_x86_64.om");
  ck_assert_str_eq(r.members[0].kind, "artifact");
  ck_assert(strncmp(r.members[1].name, "weight/weight_", 14) == 0);
  ck_assert_str_eq(r.members[1].kind, "side");
  runner_clear(&r);
}
END_TEST

START_TEST(pre_check_report)
{
  static const struct order o = {
    .flags = { "mode=3", "model=m.onnx", "framework=5", "soc_version=Ascend310P3" },
    .files = { { "model", "m.onnx", "model bytes" } },
  };
  struct runner r;

  run(&r, &o);
  ck_assert_str_eq(r.error, "");
  ck_assert_uint_eq(r.n_members, 1);
  ck_assert_str_eq(r.members[0].name, "check_result.json");
  runner_clear(&r);
}
END_TEST

START_TEST(a_run_that_fails)
{
  static const struct order o = { .flags = { "model=m.onnx", "framework=5", "output=m" },
                                  .files = { { "model", "m.onnx", "model bytes" } } };
  struct runner r;

  run(&r, &o);
  ck_assert_int_eq(r.exit_status, 255);
  ck_assert_uint_eq(r.signal, 0);
  ck_assert_uint_eq(r.n_members, 0);
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&r.out), "\nATC run failed, "));
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&r.out), "\nE10054: [PID: "));
  runner_clear(&r);
}
END_TEST

START_TEST(unknown_flag)
{
  static const struct order o = { .flags = { "no_such_flag=1" } };
  struct runner r;

  run(&r, &o);
  ck_assert_int_eq(r.exit_status, 255);
  ck_assert_str_eq(oc_buf_str(&r.err),
                   "ERROR: unknown command line flag 'no_such_flag'\n");
  runner_clear(&r);
}
END_TEST

START_TEST(killed_by_a_signal)
{
  static const struct order o = { ONNX, .env = { "FAKE_KILL=11" } };
  struct runner r;

  run(&r, &o);
  ck_assert_int_eq(r.exit_status, 139); /* as the wrapper says it */
  ck_assert_uint_eq(r.signal, 11);
  ck_assert(!r.out_of_memory);
  runner_clear(&r);
}
END_TEST

START_TEST(success_without_a_file)
{
  static const struct order o = { ONNX, .env = { "FAKE_NO_OUTPUT=1" } };
  struct runner r;

  run(&r, &o);
  ck_assert_int_eq(r.exit_status, 0);
  ck_assert_msg(strstr(r.error, "wrote no file") != NULL, "%s", r.error);
  runner_clear(&r);
}
END_TEST

START_TEST(time_limit)
{
  static const struct order o = { ONNX, .env = { "FAKE_SLEEP_MS=100000" },
                                  .time_limit_ms = 400 };
  struct runner r;

  run(&r, &o);
  ck_assert(r.timed_out);
  ck_assert_uint_eq(r.signal, SIGKILL);
  ck_assert_uint_ge(r.elapsed_ms, 400);
  ck_assert_uint_lt(r.elapsed_ms, 100000); /* what it would have taken */
  runner_clear(&r);
}
END_TEST

START_TEST(memory_limit)
{
  static const struct order o = { ONNX,
                                  .env = { "FAKE_SLEEP_MS=200000", "FAKE_RSS_MB=200" },
                                  .memory_limit_bytes = 100 << 20 };
  struct runner r;

  run(&r, &o);
  ck_assert(r.out_of_memory);
  ck_assert(!r.timed_out);
  ck_assert_uint_gt(r.peak_rss_bytes, 100 << 20);
  runner_clear(&r);
}
END_TEST

START_TEST(progress_comes)
{
  static const struct order o = { ONNX, .env = { "FAKE_SLEEP_MS=4000" } };
  struct runner r;

  run(&r, &o);
  ck_assert_uint_ge(r.progress, 2);
  ck_assert_int_eq(r.exit_status, 0);
  runner_clear(&r);
}
END_TEST

/* Waits until wrapper, program and worker are there; the wrapper's own short-lived
 * children make the number jump before. */
static void until_working(struct runner *r)
{
  int steady = 0;

  for (int i = 0; i < PATIENCE_MS / 10 && steady < 10; i++) {
    steady = processes_of(r) == 3 ? steady + 1 : 0;
    usleep(10000);
  }
  ck_assert_int_eq(steady, 10);
}

static const struct order long_run = { ONNX, .env = { "FAKE_SLEEP_MS=200000" } };

START_TEST(stop_ends_everything)
{
  struct runner r;

  runner_start(&r, &long_run);
  until_working(&r);
  runner_stop(&r);
  ck_assert_int_eq(runner_exit(&r, PATIENCE_MS), 0);
  ck_assert(processes_gone(&r, 0));
  runner_wait(&r, PATIENCE_MS);
  ck_assert(!r.done); /* nobody waits for an answer */
  runner_clear(&r);
}
END_TEST

START_TEST(a_lost_daemon_ends_everything)
{
  struct runner r;

  runner_start(&r, &long_run);
  until_working(&r);
  oc_channel_free(r.channel);
  r.channel = NULL;
  ck_assert_int_eq(runner_exit(&r, PATIENCE_MS), 0);
  ck_assert(processes_gone(&r, 0));
  runner_clear(&r);
}
END_TEST

START_TEST(a_killed_runner_ends_everything)
{
  struct runner r;

  runner_start(&r, &long_run);
  until_working(&r);
  kill(r.pid, SIGKILL);
  ck_assert_int_eq(runner_exit(&r, PATIENCE_MS), -SIGKILL);
  ck_assert(processes_gone(&r, PATIENCE_MS));
  runner_clear(&r);
}
END_TEST

START_TEST(strays_are_found)
{
  /* The worker has left the group and would live for ten minutes, with our pipes open. */
  static const struct order o = { ONNX, .env = { "FAKE_STRAY=1" } };
  struct runner r;

  run(&r, &o);
  ck_assert_int_eq(r.exit_status, 0);
  ck_assert_str_eq(oc_buf_str(&r.out), success);
  runner_clear(&r);
}
END_TEST

/* ---------------------------------------------------------------- scripts as compilers
 */

static char *script(const char *text)
{
  static char path[64];

  snprintf(path, sizeof(path), "/tmp/omcc-script-XXXXXX");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  ck_assert_int_eq(fchmod(fd, 0755), 0);
  close(fd);
  return path;
}

/* `line` may hold one '@', which stands for the job directory. */
static bool has_line(const struct oc_buf *b, const char *dir, const char *line)
{
  char want[600], *rest = NULL;
  size_t before = strcspn(line, "@");
  bool found = false;

  snprintf(want, sizeof(want), "%.*s%s%s", (int)before, line, line[before] ? dir : "",
           line[before] ? line + before + 1 : "");
  auto_free char *text = strdup(oc_buf_str(b));
  for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
    found |= strcmp(l, want) == 0;
  return found;
}

START_TEST(what_the_compiler_gets)
{
  char *path =
      script("#!/bin/sh\n"
             "for a in \"$@\"; do echo \"$a\"; done\n"
             "env | sort; pwd\n"
             "cat \"$HOME/../in/data/w 1.bin\" \"$HOME/../in/cfg/keep_dtype.cfg\"\n"
             "if read x; then echo stdin; fi\n"
             "ls /proc/self/fd\n"
             "echo text > \"$HOME/../out/model.om\"; exit 0\n");
  struct order o = {
    .toolkit = path,
    .flags = { "model=a b.onnx", "framework=5", "keep_dtype=k.txt", "output=x/y",
               "input_shape=a:1,2;b:3", "debug_dir=/d", "op_compiler_cache_mode=enable",
               "op_compiler_cache_dir=/c", "check_report=r.json" },
    .files = { { "model", "a b.onnx", "m" }, { "keep_dtype", "k.txt", "conv1\n" } },
    .external = { { "data/w 1.bin", "weights\n" } },
    .env = { "LANG=C", "HOME=/root" },
  };
  struct runner r;

  setenv("OMCC_SECRET", "must not travel", 1);
  run(&r, &o);
  unlink(path);
  ck_assert_str_eq(r.error, "");
  static const char *const lines[] = {
    "--model=@/in/model.onnx",
    "--keep_dtype=@/in/cfg/keep_dtype.cfg",
    "--output=@/out/model",
    "--input_shape=a:1,2;b:3",
    "--op_compiler_cache_dir=@/cache",
    "--check_report=@/out/check_result.json",
    "--op_compiler_cache_mode=enable",
    "HOME=@/home",
    "TMPDIR=@/tmp",
    "LANG=C",
    "@/work",
    "weights",
    "conv1",
    "--framework=5",
  };
  for (size_t i = 0; i < OC_COUNT(lines); i++)
    ck_assert_msg(has_line(&r.out, r.dir, lines[i]), "no line %s in\n%s", lines[i],
                  oc_buf_str(&r.out));
  static const char *const absent[] = { "--debug_dir=/d", "--op_compiler_cache_dir=/c",
                                        "stdin",          "--output=x/y",
                                        "HOME=/root",     "4" };
  for (size_t i = 0; i < OC_COUNT(absent); i++)
    ck_assert_msg(!has_line(&r.out, r.dir, absent[i]), "line %s in\n%s", absent[i],
                  oc_buf_str(&r.out));
  ck_assert_ptr_null(strstr(oc_buf_str(&r.out), "OMCC_SECRET"));
  runner_clear(&r);
}
END_TEST

START_TEST(much_output_arrives_whole)
{
  char *path = script("#!/bin/sh\n"
                      "head -c 20000000 /dev/zero | tr '\\0' 'x'\n"
                      "head -c 300000 /dev/zero | tr '\\0' 'y' >&2\n"
                      "echo text > \"$HOME/../out/model.om\"\n");
  struct order o = { .toolkit = path };
  struct runner r;

  runner_start(&r, &o);
  usleep(700000); /* a daemon that is busy: the socket fills */
  runner_wait(&r, PATIENCE_MS);
  unlink(path);
  ck_assert(r.done);
  ck_assert_uint_eq(r.out.len, 20000000);
  ck_assert_uint_eq(r.err.len, 300000);
  ck_assert_uint_eq(r.n_members, 1);
  ck_assert_int_eq(runner_exit(&r, PATIENCE_MS), 0);
  runner_clear(&r);
}
END_TEST

START_TEST(many_members_in_several_frames)
{
  char *path = script("#!/bin/sh\ncd \"$HOME/../out\"; mkdir weight\n"
                      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
                      "  echo $i > weight/w$i; done\n"
                      ": > empty; ln -s /etc/passwd link; mkfifo fifo\n"
                      "echo text > model.om\n");
  struct order o = { .toolkit = path };
  struct runner r;

  run(&r, &o);
  unlink(path);
  ck_assert_uint_eq(r.n_members, 21); /* no empty file, no link, no fifo */
  ck_assert_uint_eq(r.done_frames, 2);
  ck_assert_str_eq(r.members[0].name, "model.om");
  for (size_t i = 0; i < r.n_members; i++) {
    size_t len = 0;
    auto_free char *text = read_fd(r.members[i].fd, &len);
    ck_assert_uint_eq(len, r.members[i].size);
  }
  runner_clear(&r);
}
END_TEST

START_TEST(more_files_follow)
{
  char *path = script("#!/bin/sh\ncd \"$HOME/../in\"; cat part*/w* | wc -c\n"
                      "echo text > ../out/model.om\n");
  struct order o = { .toolkit = path, .more = true };
  char names[40][16];
  const char *list[40];
  struct runner r;

  runner_start(&r, &o);
  for (size_t i = 0; i < 40; i++) {
    snprintf(names[i], sizeof(names[i]), "part%zu/w%02zu", i % 3, i); /* 9 bytes */
    list[i] = names[i];
  }
  runner_more(&r, list, 16, false);
  runner_more(&r, list + 16, 16, false);
  runner_more(&r, list + 32, 8, true);
  runner_wait(&r, PATIENCE_MS);
  unlink(path);
  ck_assert(r.done);
  ck_assert_str_eq(oc_buf_str(&r.out), "360\n");
  runner_clear(&r);
}
END_TEST

/* ---------------------------------------------------------------- what is refused */

static const struct {
  struct order order;
  const char *error;
} refused[] = {
  { { .toolkit = "/no/such/toolkit" }, "has no compiler that can be run" },
  { { .toolkit = "relative/path" }, "has no compiler that can be run" },
  { { .toolkit = "/etc/passwd" }, "has no compiler that can be run" },
  { { ONNX, .external = { { "../w", "x" } } }, "outside of the model's folder" },
  { { ONNX, .external = { { "/etc/w", "x" } } }, "outside of the model's folder" },
  { { ONNX, .external = { { "a//w", "x" } } }, "outside of the model's folder" },
  { { ONNX, .external = { { "model.onnx", "x" } } }, "the model's own name" },
  { { ONNX, .external = { { "w", "x" }, { "w", "y" } } }, "cannot place the input" },
};

START_TEST(refusals)
{
  struct runner r;

  run(&r, &refused[_i].order);
  ck_assert_int_eq(r.exit_status, -1);
  ck_assert_msg(strstr(r.error, refused[_i].error) != NULL, "row %d: '%s'", _i, r.error);
  ck_assert_uint_eq(r.out.len, 0);
  runner_clear(&r);
}
END_TEST

START_TEST(unsafe_job_directory)
{
  struct order o = { ONNX, .job_dir = "/tmp/omcc-run+1" };
  struct runner r;

  rmdir(o.job_dir);
  run(&r, &o);
  rmdir(o.job_dir);
  ck_assert_msg(strstr(r.error, "characters that the compiler refuses") != NULL, "%s",
                r.error);
  runner_clear(&r);
}
END_TEST

START_TEST(missing_descriptor)
{
  struct order o = { .flags = { "model=m.onnx" },
                     .files = { { "model", "m.onnx", NULL } } };
  struct runner r;

  runner_start(&r, &o);
  runner_wait(&r, PATIENCE_MS);
  ck_assert(!r.done);
  ck_assert_int_eq(runner_exit(&r, PATIENCE_MS), 1); /* the protocol was broken */
  runner_clear(&r);
}
END_TEST

START_TEST(inside_paths)
{
  static const struct {
    const char *path;
    bool inside;
  } rows[] = {
    { "a", true },   { "a/b", true },    { "a b/c.d", true }, { "", false },
    { "/a", false }, { "a/", false },    { "..", false },     { "a/../b", false },
    { ".", false },  { "a/./b", false }, { "..a/b", true },   { "a..", true },
  };

  for (size_t i = 0; i < OC_COUNT(rows); i++)
    ck_assert_msg(path_is_inside(rows[i].path) == rows[i].inside, "'%s'", rows[i].path);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("runner");
  TCase *t = tcase_create("runner");
  SRunner *r = srunner_create(s);

  tcase_set_timeout(t, 60);
  tcase_add_test(t, a_run_that_succeeds);
  tcase_add_test(t, the_stand_in_writes_om_files);
  tcase_add_test(t, side_files);
  tcase_add_test(t, pre_check_report);
  tcase_add_test(t, a_run_that_fails);
  tcase_add_test(t, unknown_flag);
  tcase_add_test(t, killed_by_a_signal);
  tcase_add_test(t, success_without_a_file);
  tcase_add_test(t, time_limit);
  tcase_add_test(t, memory_limit);
  tcase_add_test(t, progress_comes);
  tcase_add_test(t, stop_ends_everything);
  tcase_add_test(t, a_lost_daemon_ends_everything);
  tcase_add_test(t, a_killed_runner_ends_everything);
  tcase_add_test(t, strays_are_found);
  tcase_add_test(t, what_the_compiler_gets);
  tcase_add_test(t, much_output_arrives_whole);
  tcase_add_test(t, many_members_in_several_frames);
  tcase_add_test(t, more_files_follow);
  tcase_add_loop_test(t, refusals, 0, (int)OC_COUNT(refused));
  tcase_add_test(t, unsafe_job_directory);
  tcase_add_test(t, missing_descriptor);
  tcase_add_test(t, inside_paths);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
