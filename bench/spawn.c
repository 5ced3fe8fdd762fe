/* bench_spawn ROUNDS [--unlink FILE | --first-output] -- PROGRAM [ARGUMENT...]
 *
 * Runs a program again and again and prints, one line per round, the microseconds from
 * posix_spawn() to the end of waitpid(), or to the first byte on its stdout. FILE is
 * removed before each round, outside of the time. The program's output goes to /dev/null
 * or is read and thrown away; a round that fails ends the measurement. */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

extern char **environ;

/* Microseconds, or a negative number. */
static double one_round(char **argv, const posix_spawn_file_actions_t *quiet)
{
  pid_t pid = 0;
  int status = 0;
  double start = now_us();

  if (posix_spawnp(&pid, argv[0], quiet, NULL, argv, environ) ||
      waitpid(pid, &status, 0) < 0)
    return -1;
  double end = now_us();
  return WIFEXITED(status) && !WEXITSTATUS(status) ? end - start : -1;
}

/* The same until the first byte of output; the rest is read until the program ends. */
static double until_output(char **argv)
{
  posix_spawn_file_actions_t piped;
  char bytes[65536];
  int ends[2], status = 0;
  pid_t pid = 0;

  if (pipe2(ends, O_CLOEXEC))
    return -1;
  posix_spawn_file_actions_init(&piped);
  posix_spawn_file_actions_adddup2(&piped, ends[1], 1);
  posix_spawn_file_actions_addopen(&piped, 2, "/dev/null", O_WRONLY, 0);
  double start = now_us();
  int rc = posix_spawnp(&pid, argv[0], &piped, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&piped);
  close(ends[1]);
  ssize_t n = rc ? 0 : read(ends[0], bytes, sizeof bytes);
  double end = now_us();
  for (ssize_t more = n; more > 0;)
    more = read(ends[0], bytes, sizeof bytes);
  close(ends[0]);
  if (rc || waitpid(pid, &status, 0) < 0)
    return -1;
  return n > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? end - start : -1;
}

int main(int argc, char **argv)
{
  posix_spawn_file_actions_t quiet;
  const char *victim = NULL;
  bool first_output = argc > 3 && !strcmp(argv[2], "--first-output");
  int at = first_output ? 3 : 2;

  if (argc > 4 && !strcmp(argv[2], "--unlink")) {
    victim = argv[3];
    at = 4;
  }
  if (argc < at + 2 || strcmp(argv[at], "--") != 0) {
    fputs("use: bench_spawn ROUNDS [--unlink FILE | --first-output] -- PROGRAM "
          "[ARGUMENT...]\n",
          stderr);
    return 2;
  }
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
    if (victim)
      unlink(victim);
    double us =
        first_output ? until_output(argv + at + 1) : one_round(argv + at + 1, &quiet);
    if (us < 0) {
      fprintf(stderr, "bench_spawn: '%s' fails\n", argv[at + 1]);
      return 1;
    }
    printf("%.1f\n", us);
  }
  posix_spawn_file_actions_destroy(&quiet);
  return 0;
}
