/* bench_library ROUNDS FLAG=VALUE...
 *
 * Hits inside one program: one connection, and per round one request whose artifact comes
 * as a descriptor. Prints the microseconds of each round. The result must be stored
 * already. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/omcc.h"

#include "clock.h"

#define MOST_FLAGS 32

struct round {
  bool done;
  bool hit;
};

static void on_finished(void *user, struct omcc_job *job,
                        const struct omcc_result *result)
{
  struct round *r = user;

  (void)job;
  r->done = true;
  r->hit = result->status == OMCC_OK && !strcmp(result->result, "hit") &&
           result->n_members && result->members[0].fd >= 0;
}

static int one_round(struct omcc *c, const struct omcc_request *request,
                     struct omcc_error *err)
{
  static const struct omcc_callbacks callbacks = { .size = sizeof(callbacks),
                                                   .finished = on_finished };
  struct round r = { 0 };
  struct omcc_job *job = NULL;
  int rc = omcc_submit(c, request, &callbacks, &r, &job, err);

  while (rc >= 0 && !r.done)
    rc = omcc_wait(c, -1, err);
  omcc_job_free(job);
  return rc < 0 ? rc : r.hit;
}

static size_t split_flags(char **words, struct omcc_flag *ret)
{
  size_t n = 0;

  for (; *words && n < MOST_FLAGS; words++) {
    char *equal = strchr(*words, '=');
    if (!equal)
      return 0;
    *equal = '\0';
    ret[n++] = (struct omcc_flag){ .name = *words, .value = equal + 1 };
  }
  return n;
}

int main(int argc, char **argv)
{
  struct omcc_options options = { .size = sizeof(options), .start = OMCC_START_NEVER };
  struct omcc_flag flags[MOST_FLAGS];
  struct omcc_error err = { 0 };
  struct omcc *c = NULL;
  size_t n = argc > 2 ? split_flags(argv + 2, flags) : 0;
  struct omcc_request request = {
    .size = sizeof(request), .flags = flags, .n_flags = n, .backend = "builtin"
  };
  int rc = 1;

  if (!n) {
    fputs("use: bench_library ROUNDS FLAG=VALUE...\n", stderr);
    return 2;
  }
  if (omcc_connect(&options, &c, &err) < 0) {
    fprintf(stderr, "bench_library: %s\n", err.msg);
    return 1;
  }
  for (long i = strtol(argv[1], NULL, 10); i > 0 && rc == 1; i--) {
    double start = now_us();
    rc = one_round(c, &request, &err);
    if (rc == 1)
      printf("%.1f\n", now_us() - start);
  }
  omcc_close(c);
  if (rc != 1)
    fprintf(stderr, "bench_library: %s\n", rc < 0 ? err.msg : "this is no hit");
  return rc == 1 ? 0 : 1;
}
