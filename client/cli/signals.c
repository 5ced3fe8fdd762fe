/* Signals only count; the waiting loop looks at the counts. */
#include <signal.h>

#include "cli/cli.h"

static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t terminated;

static void on_interrupt(int number)
{
  (void)number;
  interrupts++;
}

static void on_terminate(int number)
{
  terminated = number;
}

void cli_catch_signals(void)
{
  struct sigaction interrupt = { .sa_handler = on_interrupt };
  struct sigaction terminate = { .sa_handler = on_terminate };

  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGTERM, &terminate, NULL);
  sigaction(SIGHUP, &terminate, NULL);
}

int cli_interrupts(void)
{
  return interrupts;
}

int cli_terminated(void)
{
  return terminated;
}
