/* The time, memory, processes and droppings of a compile. */
#include "fake.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void print_file(int fd, const char *path)
{
  char text[4096];
  int from = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  ssize_t n;

  while (from >= 0 && (n = read(from, text, sizeof(text))) > 0)
    if (write(fd, text, (size_t)n) < 0)
      break;
  if (from >= 0)
    close(from);
}

static void nap(long ms)
{
  struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

  while (nanosleep(&t, &t) < 0)
    ;
}

static void wait_at_the_gate(void)
{
  const char *path = knob("FAKE_GATE");

  while (path && access(path, F_OK))
    nap(10);
}

static void touch_memory(long mb)
{
  for (long i = 0; i < mb; i++) {
    char *p = malloc(1u << 20);
    if (p)
      memset(p, 1 + (int)i % 100, 1u << 20); /* on purpose never freed */
  }
}

/* As the operator compiler's Python workers: it does not end by itself when asked to. */
static pid_t start_worker(long ms)
{
  pid_t pid = fork();

  if (pid != 0)
    return pid;
  signal(SIGTERM, SIG_IGN);
  if (knob("FAKE_STRAY")) {
    setsid();
    ms += 600000;
  }
  nap(ms);
  wait_at_the_gate();
  _exit(0);
}

static void leave_droppings(void)
{
  mkdir("kernel_meta", 0700);
  FILE *f = fopen("kernel_meta/te_conv2d_0.json", "we");
  if (f)
    fclose(f);
  f = fopen("fusion_result.json", "we");
  if (f) {
    fputs("[]\n", f);
    fclose(f);
  }
  const char *home = getenv("HOME");
  char path[4096];
  if (home && snprintf(path, sizeof(path), "%s/atc_data", home) < (int)sizeof(path))
    mkdir(path, 0700);
}

void work(void)
{
  long ms = knob_number("FAKE_SLEEP_MS", 0);
  int kill_by = (int)knob_number("FAKE_KILL", 0);

  leave_droppings();
  touch_memory(knob_number("FAKE_RSS_MB", 0));
  if (ms > 0 || knob("FAKE_STRAY") || knob("FAKE_GATE")) {
    pid_t worker = start_worker(ms);
    nap(ms);
    wait_at_the_gate();
    if (worker > 0 && !knob("FAKE_STRAY"))
      waitpid(worker, NULL, 0);
  }
  print_file(STDERR_FILENO, knob("FAKE_STDERR"));
  if (kill_by > 0) {
    signal(kill_by, SIG_DFL);
    raise(kill_by);
  }
}
