/* bench_ask ROUNDS status|socs|stats
 *
 * The same question again and again on one connection. Prints the microseconds of each
 * round. Start it with taskset where daemon and client shall share a core. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/omcc.h"

#include "clock.h"

static enum omcc_question question(const char *word)
{
  if (!strcmp(word, "socs"))
    return OMCC_ASK_SOCS;
  return !strcmp(word, "stats") ? OMCC_ASK_CACHE_STATS : OMCC_ASK_STATUS;
}

int main(int argc, char **argv)
{
  struct omcc_options options = { .size = sizeof(options), .start = OMCC_START_NEVER };
  struct omcc_error err = { 0 };
  struct omcc *c = NULL;

  if (argc != 3) {
    fputs("use: bench_ask ROUNDS status|socs|stats\n", stderr);
    return 2;
  }
  if (omcc_connect(&options, &c, &err) < 0) {
    fprintf(stderr, "bench_ask: %s\n", err.msg);
    return 1;
  }
  for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
    uint8_t *bytes;
    size_t len;
    double start = now_us();

    if (omcc_ask(c, question(argv[2]), 0, 10000, &bytes, &len, &err) < 0) {
      fprintf(stderr, "bench_ask: %s\n", err.msg);
      omcc_close(c);
      return 1;
    }
    printf("%.1f\n", now_us() - start);
    free(bytes);
  }
  omcc_close(c);
  return 0;
}
