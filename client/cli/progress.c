/* How far it is. On a terminal one line, rewritten at most five times per second; else
 * one line per phase that lasts, and a sign of life each minute, without control bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define REDRAW_MS    200
#define FIRST_MS     300  /* shorter runs show nothing */
#define PHASE_MS     1000 /* a phase that lasted this long gets a line */
#define HEARTBEAT_MS 60000

struct cli_progress {
  struct cli *cli;
  const char *model, *soc;
  char phase[32];
  uint32_t step, steps;
  uint64_t rss;
  int64_t start_ms, phase_ms, drawn_ms;
  bool drawn;      /* a line stands on the terminal */
  bool phase_told; /* the line of this phase was printed */
};

static int64_t now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct cli_progress *cli_progress_new(struct cli *cli)
{
  struct cli_progress *p = OC_NEW(&cli->arena, struct cli_progress);
  const char *model = oc_flags_get(&cli->flags, "model");
  const char *soc = oc_flags_get(&cli->flags, "soc_version");
  const char *slash = model ? strrchr(model, '/') : NULL;

  if (!p)
    return NULL;
  p->cli = cli;
  p->model = slash ? slash + 1 : model ? model : "";
  p->soc = soc ? soc : "";
  p->start_ms = p->phase_ms = now_ms();
  return p;
}

void cli_progress_update(struct cli_progress *p, const struct omcc_progress *u)
{
  if (!p)
    return;
  if (strcmp(p->phase, u->phase)) {
    snprintf(p->phase, sizeof(p->phase), "%s", u->phase);
    p->phase_ms = now_ms();
    p->phase_told = false;
  }
  p->step = u->step;
  p->steps = u->steps;
  p->rss = u->rss_bytes;
}

static void draw(struct cli_progress *p, int64_t now, bool terminal)
{
  uint64_t s = (uint64_t)(now - p->start_ms) / 1000;
  struct oc_buf text;

  cli_buf(&text);
  oc_buf_puts(&text, terminal ? "\r\033[K" : "omcc: ");
  if (p->steps)
    oc_buf_printf(&text, "[%u/%u] ", p->step, p->steps);
  oc_buf_printf(&text, "%s  ", p->phase);
  oc_render_plain(p->model, &text);
  oc_buf_puts(&text, "  ");
  oc_render_plain(p->soc, &text);
  oc_buf_printf(&text, "  %02" PRIu64 ":%02" PRIu64, s / 60, s % 60);
  if (p->rss) {
    oc_buf_puts(&text, "  rss ");
    oc_render_size(p->rss, &text);
  }
  oc_buf_puts(&text, terminal ? "  (ctrl-c detaches)" : "\n");
  cli_out(STDERR_FILENO, &text);
}

void cli_progress_tick(struct cli_progress *p)
{
  int64_t now = now_ms();

  if (!p || p->cli->quiet || !p->phase[0])
    return;
  if (p->cli->err_is_terminal) {
    if (now - p->start_ms < FIRST_MS || now - p->drawn_ms < REDRAW_MS)
      return;
    draw(p, now, true);
    p->drawn = true;
    p->drawn_ms = now;
    return;
  }
  if ((!p->phase_told && now - p->phase_ms >= PHASE_MS) ||
      (p->phase_told && now - p->drawn_ms >= HEARTBEAT_MS)) {
    draw(p, now, false);
    p->phase_told = true;
    p->drawn_ms = now;
  }
}

void cli_progress_clear(struct cli_progress *p)
{
  struct oc_buf text;

  if (!p || !p->drawn)
    return;
  cli_buf(&text);
  oc_buf_puts(&text, "\r\033[K");
  cli_out(STDERR_FILENO, &text);
  p->drawn = false;
}
