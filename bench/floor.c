/* bench_floor ROUNDS FILE OUTPUT_DIR
 *
 * The least that a compiler does with float32 weights which it stores as float16: reads
 * them, converts them, and writes half the bytes to a preallocated file. Prints the
 * microseconds of each round. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/half.h"

/* Larger ones took twice as long where this was tried: they do not stay in the cache. */
#define CHUNK ((size_t)128 << 10)

static double now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool one_round(int in, const char *folder, uint8_t *from, uint8_t *to)
{
  auto_close int out = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  struct oc_lowering lost = { 0 };
  struct stat st;

  if (out < 0 || fstat(in, &st) < 0 || fallocate(out, 0, 0, st.st_size / 2) < 0)
    return false;
  for (off_t at = 0;;) {
    ssize_t n = pread(in, from, CHUNK, at);
    if (n <= 0)
      return n == 0;
    size_t half = (size_t)n / 4 * 2;
    oc_convert_f32_to_f16(from, to, (size_t)n / 4, &lost);
    if (pwrite(out, to, half, at / 2) != (ssize_t)half)
      return false;
    at += n;
  }
}

int main(int argc, char **argv)
{
  auto_free uint8_t *from = malloc(CHUNK);
  auto_free uint8_t *to = malloc(CHUNK);
  auto_close int in = argc == 4 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

  if (in < 0 || !from || !to) {
    fputs("use: bench_floor ROUNDS FILE OUTPUT_DIR\n", stderr);
    return 2;
  }
  for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
    double begin = now_us();
    if (!one_round(in, argv[3], from, to)) {
      perror("bench_floor");
      return 1;
    }
    printf("%.0f\n", now_us() - begin);
  }
  return 0;
}
