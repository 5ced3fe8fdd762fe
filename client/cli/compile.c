/* omcc --model=... --output=...: the compile, its files, one summary line.
 *
 * The summary line begins with `hit` or `miss`. Lines of the vendor's compiler appear
 * only when it ran, or when its run is replayed from the cache. A failure leaves no file
 * behind and ends stderr with a line that says FAILED. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cli.h"
#include "om/om.h"

#define SCHEMA "omcc.compile/1"
/* Jobs run under this neutral name; members are called after it. */
#define NEUTRAL "model"

struct placed {
  char *path; /* the artifact's */
  const struct omcc_member *artifact;
  const char *how;
};

/* Where a member goes; NULL when its name cannot be trusted. */
static const char *target_of(struct cli *cli, const struct omcc_member *m)
{
  const char *output = oc_flags_get(&cli->flags, "output");
  const char *report = oc_flags_get(&cli->flags, "check_report");
  const char *slash = output ? strrchr(output, '/') : NULL;

  if (m->name[0] == '/' || strstr(m->name, "..") || !m->name[0])
    return NULL;
  if (!strcmp(m->name, "check_result.json"))
    return report ? report : m->name;
  if (!strcmp(m->name, NEUTRAL ".json") && oc_flags_get(&cli->flags, "json"))
    return oc_flags_get(&cli->flags, "json");
  if (!output)
    return NULL;
  if (!strcmp(m->kind, "artifact") && oc_starts_with(m->name, NEUTRAL))
    return oc_arena_printf(&cli->arena, "%s%s", output, m->name + strlen(NEUTRAL));
  return oc_arena_printf(&cli->arena, "%.*s%s", slash ? (int)(slash - output + 1) : 0,
                         slash ? output : "", m->name);
}

static bool is_captured(const struct omcc_member *m)
{
  return !strcmp(m->kind, "stdout") || !strcmp(m->kind, "stderr");
}

/* Asked for, or what the daemon is set to; a relabelled file is a copy by its nature. */
static bool wants_link(const struct cli_job *j)
{
  const struct oc_flags *flags = &j->cli->flags;

  return oc_flags_true(flags, "link") ||
         (j->finished && j->finished->link && !oc_flags_true(flags, "relabel"));
}

/* 0, or an exit status with everything said. */
static int place_all(struct cli_job *j, struct placed *ret)
{
  struct cli *cli = j->cli;
  struct omcc_place_options options = { .size = sizeof(options), .link = wants_link(j) };
  const char *output = oc_flags_get(&cli->flags, "output");
  bool relabel = oc_flags_true(&cli->flags, "relabel");
  char label[OC_OM_NAME_SIZE];

  oc_om_label_of(output ? output : NEUTRAL, label);
  for (size_t i = 0; i < j->result->n_members; i++) {
    const struct omcc_member *m = &j->result->members[i];
    bool artifact = !strcmp(m->kind, "artifact");
    const char *path = is_captured(m) ? NULL : target_of(cli, m);
    struct omcc_error err = { 0 };
    struct omcc_placed how;

    if (!path)
      continue;
    options.label = artifact && relabel ? label : NULL;
    if (omcc_place(j->c, m, path, &options, &how, &err) < 0)
      return cli_fail(cli, SCHEMA, &err);
    if (artifact && !ret->artifact) {
      *ret = (struct placed){ .path = (char *)path, .artifact = m, .how = how.how };
      if (how.link_refused[0])
        oc_finding_add(&cli->findings, OC_FINDING_LINK_REFUSED, path, "reason",
                       oc_arena_strdup(&cli->arena, how.link_refused), NULL);
    }
  }
  return 0;
}

/* Output of the vendor's compiler that is stored with the result, unless it was streamed.
 */
static void replay(struct cli_job *j)
{
  for (size_t i = 0; i < j->result->n_members && !j->output_seen; i++) {
    const struct omcc_member *m = &j->result->members[i];
    int to = !strcmp(m->kind, "stderr") || j->cli->json ? STDERR_FILENO : STDOUT_FILENO;
    struct oc_buf text;
    uint64_t at = 0;

    if (!is_captured(m))
      continue;
    cli_buf(&text);
    if (m->fd < 0)
      oc_buf_append(&text, m->data, (size_t)m->bytes);
    while (m->fd >= 0 && at < m->bytes) {
      uint8_t *p = oc_buf_reserve(&text, 65536);
      ssize_t n = p ? pread(m->fd, p, 65536, (off_t)at) : 0;

      if (n <= 0)
        break;
      oc_buf_commit(&text, (size_t)n);
      at += (uint64_t)n;
    }
    cli_out(to, &text);
  }
}

static bool is_hit(const struct omcc_result *r)
{
  return !strcmp(r->result, "hit");
}

static void short_key(const struct omcc_result *r, char ret[13])
{
  oc_hex(r->key, 6, ret);
}

static void summary_line(struct cli_job *j, const struct placed *placed,
                         struct oc_buf *out)
{
  const struct omcc_result *r = j->result;
  char key[13];

  oc_buf_printf(out, "%s  ", is_hit(r) ? "hit" : "miss");
  oc_render_plain(placed->path ? placed->path : "-", out);
  oc_buf_puts(out, "  ");
  oc_render_size(placed->artifact ? placed->artifact->bytes : 0, out);
  oc_buf_puts(out, "  ");
  oc_render_duration(r->elapsed_ms, out);
  if (r->saved_ms) {
    oc_buf_puts(out, " (saved ");
    oc_render_duration(r->saved_ms, out);
    oc_buf_putc(out, ')');
  }
  if (r->has_key) {
    short_key(r, key);
    oc_buf_printf(out, "  key %s", key);
  }
  oc_buf_printf(out, "  warnings %zu",
                oc_findings_count(&j->cli->findings, OC_SEV_WARNING));
  if (!strcmp(r->result, "joined"))
    oc_buf_puts(out, "  joined a running job");
  if (!strcmp(r->stored, "no"))
    oc_buf_printf(out, "  not stored: %s", r->stored_reason);
  oc_buf_putc(out, '\n');
  for (size_t i = 0; j->finished && j->cli->verbose && i < j->finished->n_miss_reasons;
       i++)
    oc_buf_printf(out, "  missed because %s\n", j->finished->miss_reasons[i]);
}

static void show_text(struct cli_job *j, const struct placed *placed)
{
  struct cli *cli = j->cli;
  struct oc_buf text;

  cli_buf(&text);
  if (!cli->quiet)
    summary_line(j, placed, &text);
  if (!cli->quiet && j->report && (!is_hit(j->result) || cli->verbose))
    oc_render_summary(j->report, &text);
  oc_render_findings(&cli->findings, &cli->err_style, &text);
  if (!j->result->device_ready && !strcmp(j->result->backend, "builtin"))
    oc_buf_puts(&text, "omcc: compiled by builtin, not device-ready\n");
  cli_out(STDERR_FILENO, &text);
}

static void json_data(struct cli_job *j, const struct placed *placed,
                      struct oc_json_writer *w)
{
  const struct omcc_result *r = j->result;
  char hex[65];

  oc_json_put_string(w, "result", *r->result ? r->result : NULL);
  oc_json_put_string(w, "hit_kind",
                     j->finished && *j->finished->hit_kind ? j->finished->hit_kind
                                                           : NULL);
  oc_json_put_string(w, "backend", *r->backend ? r->backend : NULL);
  oc_json_put_bool(w, "device_ready", r->device_ready);
  if (placed->artifact) {
    oc_json_begin_object(w, "artifact");
    oc_json_put_string(w, "path", placed->path);
    oc_json_put_u64(w, "size", placed->artifact->bytes);
    oc_hex(placed->artifact->sha256, 32, hex);
    oc_json_put_string(w, "object_sha256", hex);
    oc_json_put_string(w, "placed", placed->how);
    oc_json_end_object(w);
  } else {
    oc_json_put_null(w, "artifact");
  }
  oc_hex(r->key, 32, hex);
  oc_json_put_string(w, "key", r->has_key ? hex : NULL);
  oc_json_put_string(w, "stored", *r->stored ? r->stored : NULL);
  oc_json_put_string(w, "stored_reason", *r->stored_reason ? r->stored_reason : NULL);
  oc_json_put_u64(w, "elapsed_ms", r->elapsed_ms);
  oc_json_put_u64(w, "compile_ms", r->compile_ms);
  oc_json_put_u64(w, "saved_ms", r->saved_ms);
  oc_json_begin_array(w, "miss_reasons");
  for (size_t i = 0; j->finished && i < j->finished->n_miss_reasons; i++)
    oc_json_put_string(w, NULL, j->finished->miss_reasons[i]);
  oc_json_end_array(w);
  if (j->finished) {
    oc_json_put_u64(w, "peak_rss_bytes", j->finished->peak_rss_bytes);
    oc_json_put_u64(w, "job", j->finished->job);
    oc_json_put_i64(w, "tool_exit", j->finished->tool_exit);
  }
}

static void show_json(struct cli_job *j, const struct placed *placed, int status,
                      const char *message)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, SCHEMA, status, omcc_status_name(status), message,
                       &j->cli->findings, &j->cli->places);
  json_data(j, placed, &w);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

/* An op without an engine is what stopped the compile: the table shows which. */
static bool lacks_engine(const Omcc__V1__Report *r)
{
  for (size_t i = 0; r && i < r->n_ops; i++)
    if (!strcmp(r->ops[i]->engine, "none"))
      return true;
  return false;
}

static int show_failure(struct cli_job *j, int status)
{
  struct cli *cli = j->cli;
  const char *message = *j->result->message ? j->result->message : "see the findings";
  struct placed none = { 0 };
  struct oc_buf text;

  if (cli->json)
    show_json(j, &none, status, message);
  cli_buf(&text);
  if (lacks_engine(j->report) && !cli->json) {
    oc_render_lists(j->report, &cli->err_style, &text);
    oc_render_table(j->report, &cli->err_style, &text);
  }
  oc_render_findings(&cli->findings, &cli->err_style, &text);
  oc_buf_printf(&text, "omcc: FAILED %s: ", omcc_status_name(status));
  oc_render_plain(message, &text);
  oc_buf_putc(&text, '\n');
  cli_out(STDERR_FILENO, &text);
  return status;
}

static int finish(struct cli_job *j)
{
  struct placed placed = { 0 };
  int status = j->result->status;

  cli_read_report(j, status || !is_hit(j->result) || j->cli->verbose);
  cli_write_dumps(j);
  replay(j);
  if (status)
    return show_failure(j, status);
  status = place_all(j, &placed);
  if (status)
    return status;
  if (j->cli->json)
    show_json(j, &placed, 0, "");
  show_text(j, &placed);
  return 0;
}

/* True when the result would take the place of an input. */
static bool replaces_input(struct cli *cli, const char *path)
{
  struct stat there, input;

  if (stat(path, &there))
    return false;
  for (size_t i = 0; i < cli->flags.n; i++) {
    const struct oc_flag *f = &cli->flags.items[i];

    if (!f->info ||
        (f->info->content != OC_FLAG_FILE && f->info->content != OC_FLAG_LIST) ||
        stat(f->value, &input) || input.st_dev != there.st_dev ||
        input.st_ino != there.st_ino)
      continue;
    oc_finding_add(&cli->findings, OC_FINDING_OUTPUT_IS_INPUT, path, "flag", f->name,
                   NULL)
        ->flag = "output";
    return true;
  }
  return false;
}

static int check_output(struct cli *cli)
{
  const char *output = oc_flags_get(&cli->flags, "output");
  struct omcc_error err = { 0 };
  const char *path = output ? oc_arena_printf(&cli->arena, "%s.om", output) : NULL;

  if (path && replaces_input(cli, path))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the request cannot be carried out");
  if (path && !oc_flags_get(&cli->flags, "singleop") && omcc_place_check(path, &err) < 0)
    return cli_fail(cli, SCHEMA, &err);
  return 0;
}

int verb_compile(struct cli *cli)
{
  struct cli_job j;
  int status = cli_parse(cli, CLI_COMPILE);

  if (status)
    return status;
  if (oc_flags_true(&cli->flags, "help"))
    return verb_help(cli);
  if (oc_flags_true(&cli->flags, "version"))
    return verb_version(cli);
  oc_flags_check_paths(&cli->flags, &cli->findings);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  if (oc_flags_mode(&cli->flags) == 6)
    return verb_display(cli, oc_flags_get(&cli->flags, "om"));
  status = check_output(cli);
  if (status)
    return status;
  status = cli_run_job(cli, OMCC_COMPILE, OMCC_START_IF_MISSING, SCHEMA, &j);
  if (!status)
    status = finish(&j);
  cli_close_job(&j);
  return status;
}
