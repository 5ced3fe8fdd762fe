/* omcc cache stats | list | has -- <ATC flags>; the verbs that name entries or take care
 * of them are in care.c. None of them starts a daemon. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/entries.h"

#define STATS_SCHEMA "omcc.cache-stats/1"
#define LIST_SCHEMA  "omcc.cache-list/1"
#define HAS_SCHEMA   "omcc.cache-has/1"
#define ASK_MS       5000
#define LIST_LIMIT   1000

/* 0 with the message in the arena, or an exit status with everything said. */
static int ask(struct cli *cli, enum omcc_cache_what what, uint64_t since_s,
               const char *schema, const ProtobufCMessageDescriptor *type,
               ProtobufCMessage **ret)
{
  struct omcc_cache_query query = {
    .size = sizeof(query), .what = what, .limit = LIST_LIMIT, .older_than_s = since_s
  };
  struct omcc_error err = { 0 };
  struct oc_error e = { 0 };
  struct omcc *c;
  uint8_t *bytes = NULL;
  size_t len = 0;
  int rc = cli_connect(cli, OMCC_START_NEVER, &c, &err);

  if (rc < 0)
    return cli_fail(cli, schema, &err);
  rc = omcc_cache_ask(c, &query, ASK_MS, &bytes, &len, &err);
  omcc_close(c);
  if (rc < 0)
    return cli_fail(cli, schema, &err);
  rc = oc_message_unpack(type, bytes, len, &cli->arena, ret, &e);
  free(bytes);
  return rc < 0 ? cli_refuse(cli, schema, OMCC_DAEMON, e.msg) : 0;
}

static int stats(struct cli *cli, uint64_t since_s)
{
  const Omcc__V1__CacheStats *s;
  ProtobufCMessage *m;
  struct oc_json_writer w;
  struct oc_buf text;
  int status = ask(cli, OMCC_CACHE_STATS, since_s, STATS_SCHEMA,
                   &omcc__v1__cache_stats__descriptor, &m);

  if (status)
    return status;
  s = (const Omcc__V1__CacheStats *)m;
  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  if (cli->json) {
    oc_render_json_begin(&w, STATS_SCHEMA, 0, "ok", "", &cli->findings, NULL);
    oc_json_put_string(&w, "dir", s->dir);
    oc_json_begin_object(&w, "counters");
    for (size_t i = 0; i < s->n_counters; i++)
      oc_json_put_u64(&w, s->counters[i]->name, s->counters[i]->value);
    oc_json_end_object(&w);
    oc_render_json_end(&w);
    oc_buf_putc(&text, '\n');
  } else {
    oc_buf_puts(&text, "cache in ");
    oc_render_plain(s->dir, &text);
    oc_buf_putc(&text, '\n');
    for (size_t i = 0; i < s->n_counters; i++) {
      oc_buf_printf(&text, "%-20s ", s->counters[i]->name);
      counter_text(&text, s->counters[i]);
      oc_buf_putc(&text, '\n');
    }
  }
  cli_out(STDOUT_FILENO, &text);
  return 0;
}

static int list(struct cli *cli)
{
  const Omcc__V1__CacheList *l;
  ProtobufCMessage *m;
  struct oc_json_writer w;
  struct oc_buf text;
  int status =
      ask(cli, OMCC_CACHE_LIST, 0, LIST_SCHEMA, &omcc__v1__cache_list__descriptor, &m);

  if (status)
    return status;
  l = (const Omcc__V1__CacheList *)m;
  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  if (cli->json) {
    oc_render_json_begin(&w, LIST_SCHEMA, 0, "ok", "", &cli->findings, NULL);
    oc_json_begin_array(&w, "entries");
    for (size_t i = 0; i < l->n_entries; i++)
      entry_json(&w, l->entries[i]);
    oc_json_end_array(&w);
    oc_json_put_bool(&w, "truncated", l->truncated);
    oc_render_json_end(&w);
    oc_buf_putc(&text, '\n');
  } else {
    for (size_t i = 0; i < l->n_entries; i++)
      entry_text(l->entries[i], (uint64_t)time(NULL), &text);
    if (l->truncated)
      oc_buf_puts(&text, "and more\n");
  }
  cli_out(STDOUT_FILENO, &text);
  return 0;
}

static bool is_remote(const struct cli_job *j)
{
  return j->finished && !strcmp(j->finished->hit_kind, "remote");
}

static void has_json(struct cli_job *j, bool cached, int status)
{
  struct oc_json_writer w;
  struct oc_buf text;
  char hex[65];

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, HAS_SCHEMA, status, omcc_status_name(status),
                       j->result->message, &j->cli->findings, &j->cli->places);
  oc_json_put_bool(&w, "cached", cached);
  oc_json_put_string(&w, "where", !cached ? NULL : is_remote(j) ? "remote" : "local");
  oc_hex(j->result->key, 32, hex);
  oc_json_put_string(&w, "key", j->result->has_key ? hex : NULL);
  oc_json_begin_array(&w, "reasons");
  for (size_t i = 0; j->finished && i < j->finished->n_miss_reasons; i++)
    oc_json_put_string(&w, NULL, j->finished->miss_reasons[i]);
  oc_json_end_array(&w);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

static void has_text(struct cli_job *j, bool cached)
{
  struct oc_buf text;

  cli_buf(&text);
  oc_buf_puts(&text, cached ? is_remote(j) ? "cached (remote)" : "cached" : "not cached");
  for (size_t i = 0; j->finished && i < j->finished->n_miss_reasons; i++) {
    oc_buf_puts(&text, i ? "; " : ": ");
    oc_render_plain(j->finished->miss_reasons[i], &text);
  }
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

static int has(struct cli *cli)
{
  struct cli_job j;
  bool cached;
  int status = cli_parse(cli, CLI_NO_OUTPUT);

  if (status)
    return status;
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, HAS_SCHEMA, OMCC_REQUEST, "the command line is wrong");
  status = cli_run_job(cli, OMCC_LOOKUP, OMCC_START_NEVER, HAS_SCHEMA, &j);
  if (!status) {
    cached = !strcmp(j.result->result, "cached");
    status = j.result->status > OMCC_DIFFERS ? j.result->status
             : cached                        ? 0
                                             : OMCC_DIFFERS;
    if (status > OMCC_DIFFERS) {
      cli_refuse(cli, HAS_SCHEMA, status, j.result->message);
    } else if (cli->json) {
      has_json(&j, cached, status);
    } else {
      has_text(&j, cached);
      cli_print_findings(cli);
    }
  }
  cli_close_job(&j);
  return status;
}

int verb_cache(struct cli *cli)
{
  const char *what = cli->n_args ? cli->args[0] : "";
  struct care_words words = { 0 };
  int status;

  if (cli->n_args) {
    cli->args++;
    cli->n_args--;
  }
  if (!strcmp(what, "has"))
    return has(cli);
  status = care_take_words(cli, &words);
  if (!status)
    status = cli_parse(cli, CLI_WORDS);
  if (status)
    return status;
  if (!oc_findings_have_errors(&cli->findings) && !strcmp(what, "stats"))
    return stats(cli, words.since_s);
  if (!oc_findings_have_errors(&cli->findings) && !strcmp(what, "list"))
    return list(cli);
  status = oc_findings_have_errors(&cli->findings) ? -1 : care_verb(cli, what, &words);
  if (status < 0 && !oc_findings_have_errors(&cli->findings))
    status = port_verb(cli, what);
  if (status >= 0)
    return status;
  oc_finding_add(
      &cli->findings, OC_FINDING_VERB_UNKNOWN,
      oc_arena_printf(&cli->arena, "cache %s", what), "hint",
      "omcc cache stats | list | has | show | get | pin | unpin | verify | rebuild | "
      "export | import | gc | clear",
      NULL);
  return cli_refuse(cli, "omcc.error/1", OMCC_REQUEST, "unknown command");
}
