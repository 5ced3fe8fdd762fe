/* What explain --diff shows: in what two requests differ, then which ops come out
 * differently, by type. Status 1 when an op differs. */
#include <unistd.h>

#include "cli/explain.h"

#define SCHEMA DIFF_SCHEMA

static void change_value(const char *value, struct oc_buf *out)
{
  if (value && *value)
    oc_render_plain(value, out);
  else
    oc_buf_puts(out, "(not given)");
}

static void show_text(const struct diff_change *list, size_t n, const struct oc_diff *d)
{
  struct oc_buf text;

  cli_buf(&text);
  if (!n)
    oc_buf_puts(&text, "the requests do not differ\n");
  for (size_t i = 0; i < n; i++) {
    oc_buf_printf(&text, "--%s: ", list[i].name);
    change_value(list[i].a, &text);
    oc_buf_puts(&text, " -> ");
    change_value(list[i].b, &text);
    oc_buf_putc(&text, '\n');
  }
  oc_buf_putc(&text, '\n');
  oc_render_diff(d, &text);
  cli_out(STDOUT_FILENO, &text);
}

static void put_value(struct oc_json_writer *w, const char *key, const char *value)
{
  if (value)
    oc_json_put_string(w, key, value);
  else
    oc_json_put_null(w, key);
}

static void show_json(struct cli *cli, const struct diff_change *list, size_t n,
                      const struct oc_diff *d)
{
  struct oc_json_writer w;
  struct oc_buf text;
  int status = d->n ? OMCC_DIFFERS : 0;

  cli_json_begin(cli, &w, &text, SCHEMA, status, d->n ? "the results differ" : "");
  oc_json_begin_array(&w, "request");
  for (size_t i = 0; i < n; i++) {
    oc_json_begin_object(&w, NULL);
    oc_json_put_string(&w, "name", list[i].name);
    put_value(&w, "a", list[i].a);
    put_value(&w, "b", list[i].b);
    oc_json_end_object(&w);
  }
  oc_json_end_array(&w);
  oc_render_json_diff(&w, d);
  cli_json_end(&w, &text);
}

int explain_show_diff(struct cli *cli, const struct diff_change *list, size_t n,
                      const Omcc__V1__Report *a, const Omcc__V1__Report *b)
{
  struct oc_diff d = { 0 };

  if (oc_render_compare(a, b, &cli->arena, &d))
    return cli_refuse(cli, DIFF_SCHEMA, OMCC_BUG, "out of memory");
  if (cli->json)
    show_json(cli, list, n, &d);
  else
    show_text(list, n, &d);
  return d.n ? OMCC_DIFFERS : 0;
}
