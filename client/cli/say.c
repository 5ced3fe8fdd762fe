/* Words to the user: findings, failures, notes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* Bytes of stdout that nobody got, for the exit status. */
static int lost_output;

int cli_lost_output(void)
{
  return lost_output;
}

void cli_buf(struct oc_buf *b)
{
  oc_buf_init(b, CLI_TEXT_CAP);
}

void cli_out(int fd, struct oc_buf *text)
{
  const char *p = oc_buf_str(text);
  size_t left = text->len;

  while (left) {
    ssize_t n = write(fd, p, left);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      if (fd == STDOUT_FILENO && errno != EPIPE) /* that reader has seen enough */
        lost_output = errno;
      break;
    }
    p += n;
    left -= (size_t)n;
  }
  oc_buf_clear(text);
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
  struct oc_buf text;
  va_list ap;

  if (cli->quiet)
    return;
  cli_buf(&text);
  oc_buf_puts(&text, "omcc: ");
  va_start(ap, fmt);
  oc_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  oc_buf_putc(&text, '\n');
  cli_out(STDERR_FILENO, &text);
}

void cli_print_findings(struct cli *cli)
{
  struct oc_buf text;

  cli_buf(&text);
  oc_render_findings(&cli->findings, &cli->err_style, &text);
  cli_out(STDERR_FILENO, &text);
}

bool cli_add_finding(struct cli *cli, const struct omcc_error *err)
{
  enum oc_finding_id id;
  struct oc_finding *f;

  if (!err->id[0] || !oc_finding_by_name(err->id, &id))
    return false;
  f = oc_finding_add(&cli->findings, id, err->subject, "detail", err->detail, "flag",
                     err->flag, "hint", err->fix, NULL);
  f->flag = oc_arena_strdup(&cli->arena, err->flag);
  if (!f->flag)
    f->flag = "";
  return true;
}

void cli_json_begin(struct cli *cli, struct oc_json_writer *w, struct oc_buf *text,
                    const char *schema, int status, const char *message)
{
  cli_buf(text);
  oc_json_writer_init(w, text, true);
  oc_render_json_begin(w, schema, status, omcc_status_name(status), message,
                       &cli->findings, &cli->places);
}

void cli_json_end(struct oc_json_writer *w, struct oc_buf *text)
{
  oc_render_json_end(w);
  oc_buf_putc(text, '\n');
  cli_out(STDOUT_FILENO, text);
}

int cli_refuse(struct cli *cli, const char *schema, int status, const char *message)
{
  struct oc_buf text;

  cli_buf(&text);
  if (cli->json) {
    struct oc_json_writer w;

    oc_json_writer_init(&w, &text, true);
    oc_render_json_begin(&w, schema, status, omcc_status_name(status), message,
                         &cli->findings, &cli->places);
    oc_render_json_end(&w);
    oc_buf_putc(&text, '\n');
    cli_out(STDOUT_FILENO, &text);
    cli_buf(&text);
  }
  oc_render_findings(&cli->findings, &cli->err_style, &text);
  oc_buf_printf(&text, "omcc: FAILED %s: %s\n", omcc_status_name(status), message);
  cli_out(STDERR_FILENO, &text);
  return status;
}

int cli_fail(struct cli *cli, const char *schema, const struct omcc_error *err)
{
  if (cli_add_finding(cli, err))
    return cli_refuse(cli, schema, err->status, "the request cannot be carried out");
  if (err->fix[0]) {
    struct oc_buf text;

    cli_buf(&text);
    oc_buf_printf(&text, "%s (fix: %s)", err->msg, err->fix);
    cli_refuse(cli, schema, err->status, oc_buf_str(&text));
    oc_buf_clear(&text);
    return err->status;
  }
  return cli_refuse(cli, schema, err->status, err->msg);
}
