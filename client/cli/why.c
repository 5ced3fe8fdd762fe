/* omcc why JOB | KEY | -- <flags of atc>: what differs from the nearest stored entry,
 * part by part, with both values. Starts no daemon and compiles nothing. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/entries.h"

#define SCHEMA "omcc.why/1"

/* One answer, whichever way it came. */
struct why {
  const char *text; /* how that request ended, or would end */
  Omcc__V1__Difference **differences;
  size_t n_differences;
  char nearest[65];
};

static void show_json(struct cli *cli, const struct why *y)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, SCHEMA, 0, "ok", "", &cli->findings, &cli->places);
  oc_json_put_string(&w, "result", y->text);
  oc_json_put_string(&w, "nearest", *y->nearest ? y->nearest : NULL);
  differences_json(&w, y->differences, y->n_differences);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

static void show_text(const struct why *y)
{
  struct oc_buf text;

  cli_buf(&text);
  oc_render_plain(y->text, &text);
  oc_buf_putc(&text, '\n');
  if (y->n_differences)
    oc_buf_printf(&text, "differs from the stored entry %.12s in %zu part%s:\n",
                  y->nearest, y->n_differences, y->n_differences == 1 ? "" : "s");
  else if (*y->nearest)
    oc_buf_printf(&text, "nothing differs from the stored entry %.12s\n", y->nearest);
  differences_text(&text, y->differences, y->n_differences);
  cli_out(STDOUT_FILENO, &text);
}

static int show(struct cli *cli, const struct why *y)
{
  if (cli->json)
    show_json(cli, y);
  else
    show_text(y);
  return 0;
}

static void nearest_of(ProtobufCBinaryData key, struct why *y)
{
  y->nearest[0] = '\0';
  if (key.len == 32)
    oc_hex(key.data, 32, y->nearest);
}

/* About something that was. */
static int why_then(struct cli *cli, const char *what)
{
  struct omcc_cache_query query = { .size = sizeof(query),
                                    .what = OMCC_CACHE_WHY,
                                    .key = what };
  const Omcc__V1__CacheAnswer *a;
  struct omcc_error err = { 0 };
  struct omcc *c;
  int status;

  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, SCHEMA, &err);
  status = care_ask(cli, &query, c, SCHEMA, &a);
  omcc_close(c);
  if (status)
    return status;
  if (a->status)
    return cli_refuse(cli, SCHEMA, (int)a->status, a->message);
  struct why y = { .text = a->text,
                   .differences = a->differences,
                   .n_differences = a->n_differences };
  nearest_of(a->nearest, &y);
  return show(cli, &y);
}

static const char *sentence(struct cli *cli, const Omcc__V1__Finished *f, bool cached)
{
  struct oc_buf text;
  const char *copy;

  if (cached && !strcmp(f->hit_kind, "remote"))
    return "cached in the remote cache: this request would be a hit";
  if (cached)
    return "cached: this request would be a hit";
  cli_buf(&text);
  oc_buf_puts(&text, "would miss");
  for (size_t i = 0; i < f->n_miss_reasons; i++)
    oc_buf_printf(&text, "%s%s", i ? "; " : ": ", f->miss_reasons[i]);
  copy = oc_arena_strdup(&cli->arena, oc_buf_str(&text));
  oc_buf_clear(&text);
  return copy ? copy : "would miss";
}

/* About flags: as a lookup, which starts nothing. */
static int why_flags(struct cli *cli)
{
  struct cli_job j;
  int status = cli_parse(cli, CLI_NO_OUTPUT);

  if (status)
    return status;
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  status = cli_run_job(cli, OMCC_LOOKUP, OMCC_START_NEVER, SCHEMA, &j);
  if (!status && (j.result->status > OMCC_DIFFERS || !j.finished))
    status = cli_refuse(cli, SCHEMA, j.result->status, j.result->message);
  if (!status) {
    struct why y = { .differences = j.finished->differences,
                     .n_differences = j.finished->n_differences };

    y.text = sentence(cli, j.finished, !strcmp(j.result->result, "cached"));
    nearest_of(j.finished->nearest, &y);
    status = show(cli, &y);
  }
  cli_close_job(&j);
  return status;
}

/* The operand in front of the first word with a dash, NULL when there is none. */
static const char *operand(const struct cli *cli)
{
  return cli->n_args && cli->args[0][0] != '-' ? cli->args[0] : NULL;
}

int verb_why(struct cli *cli)
{
  const char *what = operand(cli);
  bool flags = false;
  int status;

  for (size_t i = 0; i < cli->n_args; i++)
    flags |= oc_starts_with(cli->args[i], "--model") || !strcmp(cli->args[i], "--");
  if (flags)
    return why_flags(cli);
  status = cli_parse(cli, CLI_WORDS);
  if (status)
    return status;
  if (!what && cli->n_words == 1)
    what = cli->words[0];
  if (!what || oc_findings_have_errors(&cli->findings))
    return cli_refuse(
        cli, SCHEMA, OMCC_REQUEST,
        "name a job, a key or flags: omcc why JOB | KEY | -- <flags of atc>");
  return why_then(cli, what);
}
