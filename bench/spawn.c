/* bench_spawn ROUNDS [--unlink FILE] -- PROGRAM [ARGUMENT...]
 *
 * Runs a program again and again and prints, one line per round, the microseconds from
 * posix_spawn() to the end of waitpid(). FILE is removed before each round, outside of
 * the time. The program's output goes to /dev/null; a round that fails ends the
 * measurement. */
#include <fcntl.h>
#include <spawn.h>
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

int main(int argc, char **argv)
{
  posix_spawn_file_actions_t quiet;
  const char *victim = NULL;
  int at = 2;

  if (argc > 4 && !strcmp(argv[2], "--unlink")) {
    victim = argv[3];
    at = 4;
  }
  if (argc < at + 2 || strcmp(argv[at], "--") != 0) {
    fputs("use: bench_spawn ROUNDS [--unlink FILE] -- PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
    if (victim)
      unlink(victim);
    double us = one_round(argv + at + 1, &quiet);
    if (us < 0) {
      fprintf(stderr, "bench_spawn: '%s' fails\n", argv[at + 1]);
      return 1;
    }
    printf("%.1f\n", us);
  }
  posix_spawn_file_actions_destroy(&quiet);
  return 0;
}
