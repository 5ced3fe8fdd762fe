/* bench_many CLIENTS SECONDS -- PROGRAM [ARGUMENT...]
 *
 * So many clients at once, each of which starts the program, waits for its end and starts
 * it again, for so long. '@' in an argument becomes the client's number. Prints how many
 * runs ended per second; a run that fails ends the measurement. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

extern char **environ;

#define MOST_CLIENTS 256

struct client {
  pthread_t thread;
  char **argv;
};

static atomic_bool stop, failed;
static atomic_ulong n_runs;
static posix_spawn_file_actions_t quiet;

static bool run_once(char **argv)
{
  pid_t pid = 0;
  int status = 0;

  if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ))
    return false;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return false;
  return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void *client_main(void *arg)
{
  struct client *c = arg;

  while (!atomic_load(&stop)) {
    if (!run_once(c->argv)) {
      atomic_store(&failed, true);
      break;
    }
    atomic_fetch_add(&n_runs, 1);
  }
  return NULL;
}

/* The arguments with the client's number in them; lives until the end. */
static char **arguments(char **argv, int n, long number)
{
  char **own = calloc((size_t)n + 1, sizeof(char *));

  for (int i = 0; own && i < n; i++) {
    char *at = strchr(argv[i], '@');

    if (!at)
      own[i] = argv[i];
    else if (asprintf(&own[i], "%.*s%ld%s", (int)(at - argv[i]), argv[i], number,
                      at + 1) < 0)
      return NULL;
  }
  return own;
}

int main(int argc, char **argv)
{
  static struct client clients[MOST_CLIENTS];
  long n = argc > 4 ? strtol(argv[1], NULL, 10) : 0;
  double seconds = argc > 4 ? strtod(argv[2], NULL) : 0, start;

  if (n < 1 || n > MOST_CLIENTS || seconds <= 0 || strcmp(argv[3], "--") != 0) {
    fputs("use: bench_many CLIENTS SECONDS -- PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  start = now_us();
  for (long i = 0; i < n; i++) {
    clients[i].argv = arguments(argv + 4, argc - 4, i);
    if (!clients[i].argv ||
        pthread_create(&clients[i].thread, NULL, client_main, &clients[i]))
      return 1;
  }
  usleep((useconds_t)(seconds * 1e6));
  atomic_store(&stop, true);
  for (long i = 0; i < n; i++)
    pthread_join(clients[i].thread, NULL);
  if (atomic_load(&failed)) {
    fprintf(stderr, "bench_many: '%s' fails\n", argv[4]);
    return 1;
  }
  printf("%.1f\n", (double)atomic_load(&n_runs) * 1e6 / (now_us() - start));
  return 0;
}
