/* omcc status: the daemon's own account of itself. Starts nothing. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

#define SCHEMA "omcc.status/1"
#define ASK_MS 5000

static void counters_json(struct oc_json_writer *w, const char *key,
                          Omcc__V1__Counter **list, size_t n)
{
  oc_json_begin_object(w, key);
  for (size_t i = 0; i < n; i++)
    oc_json_put_u64(w, list[i]->name, list[i]->value);
  oc_json_end_object(w);
}

static void remote_json(struct oc_json_writer *w, const Omcc__V1__RemoteCache *r)
{
  if (!r) {
    oc_json_put_null(w, "remote");
    return;
  }
  oc_json_begin_object(w, "remote");
  oc_json_put_string(w, "url", r->url);
  oc_json_put_string(w, "mode", r->write ? "read-write" : "read");
  oc_json_put_string(w, "breaker", r->state);
  oc_json_put_string(w, "reason", *r->why ? r->why : NULL);
  counters_json(w, "counters", r->counters, r->n_counters);
  oc_json_end_object(w);
}

static void show_json(struct cli *cli, const Omcc__V1__Status *s)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, SCHEMA, 0, "ok", "", &cli->findings, NULL);
  oc_json_put_u64(&w, "pid", s->pid);
  oc_json_put_string(&w, "version", s->version);
  oc_json_put_u64(&w, "uptime_s", s->uptime_s);
  oc_json_put_string(&w, "socket", s->socket);
  oc_json_put_string(&w, "cache_dir", s->cache_dir);
  oc_json_put_string(&w, "cache_trouble", *s->cache_trouble ? s->cache_trouble : NULL);
  oc_json_put_string(&w, "backend", s->backend_default);
  oc_json_put_string(&w, "toolkit", *s->toolkit ? s->toolkit : NULL);
  oc_json_put_u64(&w, "rss_bytes", s->rss_bytes);
  oc_json_begin_array(&w, "workers");
  for (size_t i = 0; i < s->n_workers; i++) {
    oc_json_begin_object(&w, NULL);
    oc_json_put_u64(&w, "pid", s->workers[i]->pid);
    oc_json_put_string(&w, "state", s->workers[i]->state);
    oc_json_put_u64(&w, "job", s->workers[i]->job);
    oc_json_end_object(&w);
  }
  oc_json_end_array(&w);
  counters_json(&w, "jobs", s->jobs, s->n_jobs);
  counters_json(&w, "cache", s->cache, s->n_cache);
  remote_json(&w, s->remote);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

static void counters_text(struct oc_buf *out, const char *name, Omcc__V1__Counter **list,
                          size_t n)
{
  oc_buf_printf(out, "%-9s", name);
  for (size_t i = 0; i < n; i++)
    oc_buf_printf(out, "%s%s %llu", i ? ", " : "", list[i]->name,
                  (unsigned long long)list[i]->value);
  oc_buf_putc(out, '\n');
}

static void remote_text(struct oc_buf *out, const Omcc__V1__RemoteCache *r)
{
  oc_buf_puts(out, "remote   ");
  oc_render_plain(r->url, out);
  oc_buf_printf(out, ", %s, breaker %s", r->write ? "read-write" : "read", r->state);
  if (*r->why) {
    oc_buf_puts(out, " (");
    oc_render_plain(r->why, out);
    oc_buf_putc(out, ')');
  }
  oc_buf_puts(out, "\n");
  counters_text(out, "", r->counters, r->n_counters);
}

static void show_text(const Omcc__V1__Status *s)
{
  struct oc_buf text;

  cli_buf(&text);
  oc_buf_printf(&text, "daemon   pid %u, version %s, up ", s->pid, s->version);
  oc_render_duration(s->uptime_s * 1000, &text);
  oc_buf_puts(&text, ", rss ");
  oc_render_size(s->rss_bytes, &text);
  oc_buf_puts(&text, "\nsocket   ");
  oc_render_plain(s->socket, &text);
  oc_buf_puts(&text, "\ncache in ");
  oc_render_plain(s->cache_dir, &text);
  if (*s->cache_trouble) {
    oc_buf_puts(&text, "\ntrouble  ");
    oc_render_plain(s->cache_trouble, &text);
  }
  oc_buf_printf(&text, "\nbackend  %s", s->backend_default);
  if (*s->toolkit) {
    oc_buf_puts(&text, ", toolkit ");
    oc_render_plain(s->toolkit, &text);
  }
  oc_buf_putc(&text, '\n');
  for (size_t i = 0; i < s->n_workers; i++)
    oc_buf_printf(&text, "worker   pid %u, %s, job %llu\n", s->workers[i]->pid,
                  s->workers[i]->state, (unsigned long long)s->workers[i]->job);
  counters_text(&text, "jobs", s->jobs, s->n_jobs);
  counters_text(&text, "cache", s->cache, s->n_cache);
  if (s->remote)
    remote_text(&text, s->remote);
  cli_out(STDOUT_FILENO, &text);
}

int verb_status(struct cli *cli)
{
  struct omcc_error err = { 0 };
  struct oc_error e = { 0 };
  ProtobufCMessage *m;
  struct omcc *c;
  uint8_t *bytes;
  size_t len;
  int status = cli_parse(cli, CLI_WORDS);

  if (status)
    return status;
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, SCHEMA, &err);
  if (omcc_ask(c, OMCC_ASK_STATUS, 0, ASK_MS, &bytes, &len, &err) < 0) {
    omcc_close(c);
    return cli_fail(cli, SCHEMA, &err);
  }
  if (oc_message_unpack(&omcc__v1__status__descriptor, bytes, len, &cli->arena, &m, &e) <
      0)
    status = cli_refuse(cli, SCHEMA, OMCC_DAEMON, e.msg);
  else if (cli->json)
    show_json(cli, (const Omcc__V1__Status *)m);
  else
    show_text((const Omcc__V1__Status *)m);
  free(bytes);
  omcc_close(c);
  return status;
}
