/* bench_copy ROUNDS FILE TARGET
 *
 * The floor of a delivery by copy: copy_file_range() into a new file beside TARGET, then
 * rename(). Prints the microseconds of each round; TARGET is removed before, outside of
 * the time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "clock.h"

static int copy(const char *from, const char *temporary, const char *target)
{
  auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
  auto_close int out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  struct stat st;
  ssize_t n = 1;

  if (in < 0 || out < 0 || fstat(in, &st))
    return -1;
  for (off_t left = st.st_size; left > 0 && n > 0; left -= n)
    n = copy_file_range(in, NULL, out, NULL, (size_t)left, 0);
  return n > 0 ? rename(temporary, target) : -1;
}

int main(int argc, char **argv)
{
  char temporary[4096];

  if (argc != 4) {
    fputs("use: bench_copy ROUNDS FILE TARGET\n", stderr);
    return 2;
  }
  snprintf(temporary, sizeof(temporary), "%s.new", argv[3]);
  for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
    unlink(argv[3]);
    double start = now_us();
    if (copy(argv[2], temporary, argv[3])) {
      fprintf(stderr, "bench_copy: %s\n", strerror(errno));
      return 1;
    }
    printf("%.1f\n", now_us() - start);
  }
  return 0;
}
