/* omcc cache show | get | pin | unpin | verify | rebuild | gc | clear, and omcc whence.
 * None of them starts a daemon. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/entries.h"
#include "om/om.h"

#define WHENCE_SCHEMA "omcc.whence/1"
#define ASK_MS        5000
/* Reading a whole cache takes as long as it takes. */
#define LONG_MS 86400000
/* Stored objects carry this name inside. */
#define NEUTRAL "model"

int care_ask(struct cli *cli, const struct omcc_cache_query *query, struct omcc *c,
             const char *schema, const Omcc__V1__CacheAnswer **ret)
{
  bool slow = (query->what >= OMCC_CACHE_VERIFY && query->what <= OMCC_CACHE_REBUILD) ||
              query->what == OMCC_CACHE_EXPORT || query->what == OMCC_CACHE_IMPORT ||
              query->what == OMCC_CACHE_COMPARE;
  struct omcc_error err = { 0 };
  struct oc_error e = { 0 };
  ProtobufCMessage *m;
  uint8_t *bytes = NULL;
  size_t len = 0;
  int rc = omcc_cache_ask(c, query, slow ? LONG_MS : ASK_MS, &bytes, &len, &err);

  if (rc < 0)
    return cli_fail(cli, schema, &err);
  rc = oc_message_unpack(&omcc__v1__cache_answer__descriptor, bytes, len, &cli->arena, &m,
                         &e);
  free(bytes);
  if (rc < 0)
    return cli_refuse(cli, schema, OMCC_DAEMON, e.msg);
  *ret = (const Omcc__V1__CacheAnswer *)m;
  return 0;
}

/* ---------------------------------------------------------------- showing */

static void member_json(struct oc_json_writer *w, const Omcc__V1__Member *m)
{
  char hex[65];

  oc_hex(m->sha256.data, m->sha256.len < 32 ? m->sha256.len : 32, hex);
  oc_json_begin_object(w, NULL);
  oc_json_put_string(w, "name", m->name);
  oc_json_put_string(w, "kind", m->kind);
  oc_json_put_u64(w, "size", m->size);
  oc_json_put_string(w, "sha256", hex);
  oc_json_end_object(w);
}

static void answer_json(struct cli *cli, const char *schema,
                        const Omcc__V1__CacheAnswer *a)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, schema, (int)a->status, omcc_status_name((int)a->status),
                       a->message, &cli->findings, NULL);
  oc_json_begin_array(&w, "entries");
  for (size_t i = 0; i < a->n_entries; i++)
    entry_json(&w, a->entries[i]);
  oc_json_end_array(&w);
  oc_json_begin_array(&w, "members");
  for (size_t i = 0; i < a->n_members; i++)
    member_json(&w, a->members[i]);
  oc_json_end_array(&w);
  oc_json_begin_array(&w, "parts");
  for (size_t i = 0; i < a->n_parts; i++)
    oc_json_put_string(&w, NULL, a->parts[i]);
  oc_json_end_array(&w);
  oc_json_begin_object(&w, "counters");
  for (size_t i = 0; i < a->n_counters; i++)
    oc_json_put_u64(&w, a->counters[i]->name, a->counters[i]->value);
  oc_json_end_object(&w);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

static void answer_text(const Omcc__V1__CacheAnswer *a)
{
  struct oc_buf text;

  cli_buf(&text);
  for (size_t i = 0; i < a->n_entries; i++)
    entry_text(a->entries[i], (uint64_t)time(NULL), &text);
  for (size_t i = 0; i < a->n_members && a->n_parts; i++) {
    const Omcc__V1__Member *m = a->members[i];
    char hex[65];

    oc_hex(m->sha256.data, m->sha256.len < 32 ? m->sha256.len : 32, hex);
    oc_buf_printf(&text, "  %s ", hex);
    oc_render_plain(m->name, &text);
    oc_buf_printf(&text, " (%s, %" PRIu64 " bytes)\n", m->kind, m->size);
  }
  for (size_t i = 0; i < a->n_parts; i++) {
    oc_buf_puts(&text, "  ");
    oc_render_plain(a->parts[i], &text);
    oc_buf_putc(&text, '\n');
  }
  for (size_t i = 0; i < a->n_counters; i++) {
    oc_buf_printf(&text, "%s%s ", i ? ", " : "", a->counters[i]->name);
    counter_text(&text, a->counters[i]);
  }
  if (a->n_counters)
    oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

int care_show(struct cli *cli, const char *schema, const Omcc__V1__CacheAnswer *a)
{
  struct oc_buf text;

  if (cli->json)
    answer_json(cli, schema, a);
  else
    answer_text(a);
  if (!a->status || cli->quiet)
    return (int)a->status;
  cli_buf(&text);
  oc_buf_puts(&text, "omcc: ");
  oc_render_plain(a->message, &text);
  oc_buf_putc(&text, '\n');
  cli_out(STDERR_FILENO, &text);
  return (int)a->status;
}

/* ---------------------------------------------------------------- get */

static int place(struct cli *cli, struct omcc *c, const Omcc__V1__Member *m,
                 const char *path)
{
  struct omcc_member from = { .name = m->name,
                              .kind = m->kind,
                              .mode = m->mode,
                              .bytes = m->size,
                              .fd = -1,
                              .data = m->inline_.data };
  struct omcc_place_options options = { .size = sizeof(options) };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  if (m->where_case == OMCC__V1__MEMBER__WHERE_FD) {
    from.data = NULL;
    from.fd = omcc_cache_take_fd(c, m->fd);
  }
  if (omcc_place(c, &from, path, &options, &how, &err) < 0)
    return cli_fail(cli, CARE_SCHEMA, &err);
  return 0;
}

/* The artifact goes to the path that was named, other files of the result beside it. */
static int place_all(struct cli *cli, struct omcc *c, const Omcc__V1__CacheAnswer *a,
                     const char *output)
{
  const char *slash = strrchr(output, '/');

  for (size_t i = 0; i < a->n_members; i++) {
    const Omcc__V1__Member *m = a->members[i];
    bool artifact = !strcmp(m->kind, "artifact");
    const char *path = output;
    int status;

    if (m->name[0] == '/' || strstr(m->name, ".."))
      continue;
    if (!artifact)
      path = oc_arena_printf(&cli->arena, "%.*s%s", slash ? (int)(slash - output + 1) : 0,
                             output, m->name);
    status = path ? place(cli, c, m, path) : OMCC_BUG;
    if (status)
      return status;
  }
  return 0;
}

/* A result of many files comes in several answers; `ret` names them all. */
static int get_all(struct cli *cli, struct omcc *c, struct omcc_cache_query query,
                   const char *output, const Omcc__V1__CacheAnswer **ret)
{
  Omcc__V1__Member **all = NULL;
  Omcc__V1__CacheAnswer *whole;
  size_t n = 0;
  int status;

  do {
    status = care_ask(cli, &query, c, CARE_SCHEMA, ret);
    if (status || (*ret)->status)
      return status;
    status = place_all(cli, c, *ret, output);
    if (status)
      return status;
    all = oc_arena_grow(&cli->arena, all, n, n + (*ret)->n_members + 1, sizeof(*all));
    if (!all)
      return OMCC_BUG;
    for (size_t i = 0; i < (*ret)->n_members; i++)
      all[n++] = (*ret)->members[i];
    query.skip = (uint32_t)n;
  } while ((*ret)->more && (*ret)->n_members);
  whole = oc_arena_memdup(&cli->arena, *ret, sizeof(**ret));
  if (!whole)
    return OMCC_BUG;
  whole->members = all;
  whole->n_members = n;
  *ret = whole;
  return 0;
}

/* ---------------------------------------------------------------- the verbs */

static const struct {
  const char *name;
  enum omcc_cache_what what;
  bool key;
} verbs[] = {
  { "show", OMCC_CACHE_SHOW, true },      { "get", OMCC_CACHE_GET, true },
  { "pin", OMCC_CACHE_PIN, true },        { "unpin", OMCC_CACHE_UNPIN, true },
  { "verify", OMCC_CACHE_VERIFY, false }, { "gc", OMCC_CACHE_GC, false },
  { "clear", OMCC_CACHE_CLEAR, false },   { "rebuild", OMCC_CACHE_REBUILD, false },
};

/* What the numbers behind it are about; for people only. */
static void say_what(const struct cli *cli, const struct omcc_cache_query *q)
{
  bool drops = q->what == OMCC_CACHE_GC || q->what == OMCC_CACHE_CLEAR;
  struct oc_buf text;

  if (cli->json || !drops)
    return;
  cli_buf(&text);
  oc_buf_puts(&text, q->dry_run ? "would drop: " : "dropped: ");
  cli_out(STDOUT_FILENO, &text);
}

static int ask_and_show(struct cli *cli, const struct omcc_cache_query *query,
                        const char *output)
{
  const Omcc__V1__CacheAnswer *a;
  struct omcc_error err = { 0 };
  struct omcc *c;
  int status;

  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, CARE_SCHEMA, &err);
  status = query->what == OMCC_CACHE_GET ? get_all(cli, c, *query, output, &a)
                                         : care_ask(cli, query, c, CARE_SCHEMA, &a);
  if (!status && !a->status)
    say_what(cli, query);
  if (!status)
    status = care_show(cli, CARE_SCHEMA, a);
  omcc_close(c);
  return status;
}

int care_verb(struct cli *cli, const char *what, const struct care_words *words)
{
  for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
    struct omcc_cache_query query = { .size = sizeof(query),
                                      .what = verbs[i].what,
                                      .has_max = words->has_max,
                                      .max_bytes = words->max_bytes,
                                      .older_than_s = words->older_than_s,
                                      .toolkit = words->toolkit,
                                      .dry_run = words->dry_run,
                                      .pin_s = words->pin_s };

    if (strcmp(verbs[i].name, what))
      continue;
    if (cli->n_words != (verbs[i].key ? 1 : 0))
      return cli_refuse(cli, CARE_SCHEMA, OMCC_REQUEST,
                        verbs[i].key ? "name one entry by the beginning of its key"
                                     : "this command takes no further words");
    if (verbs[i].key)
      query.key = cli->words[0];
    if (query.what == OMCC_CACHE_GET && !words->output)
      return cli_refuse(cli, CARE_SCHEMA, OMCC_REQUEST, "say where to with -o FILE");
    return ask_and_show(cli, &query, words->output);
  }
  return -1;
}

/* ---------------------------------------------------------------- whence */

/* The file as it lies in the store: under the neutral name. What is no .om is asked for
 * as it is. */
static int neutral_copy(int fd)
{
  struct oc_om_source source;
  int copy = memfd_create("neutral", MFD_CLOEXEC);

  if (copy < 0 || oc_om_source_fd(fd, &source, NULL) < 0 ||
      oc_om_relabel(source, copy, NEUTRAL, NULL, NULL) < 0) {
    oc_close_fd(&copy);
    return -1;
  }
  return copy;
}

static int ask_whence(struct cli *cli, struct omcc *c, int fd,
                      const Omcc__V1__CacheAnswer **ret)
{
  struct omcc_cache_query query = {
    .size = sizeof(query), .what = OMCC_CACHE_WHENCE, .has_fd = true, .fd = fd
  };

  return care_ask(cli, &query, c, WHENCE_SCHEMA, ret);
}

int verb_whence(struct cli *cli)
{
  const Omcc__V1__CacheAnswer *a;
  struct omcc_error err = { 0 };
  struct omcc *c;
  int status = cli_parse(cli, CLI_WORDS);

  if (status)
    return status;
  if (cli->n_words != 1 || oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, WHENCE_SCHEMA, OMCC_REQUEST,
                      "name one file: omcc whence FILE.om");
  auto_close int fd = open(cli->words[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return cli_refuse(cli, WHENCE_SCHEMA, OMCC_REQUEST,
                      oc_arena_printf(&cli->arena, "cannot open '%s': %s", cli->words[0],
                                      strerror(errno)));
  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, WHENCE_SCHEMA, &err);
  status = ask_whence(cli, c, fd, &a);
  auto_close int copy = !status && a->status == OMCC_DIFFERS ? neutral_copy(fd) : -1;
  if (copy >= 0)
    status = ask_whence(cli, c, copy, &a);
  omcc_close(c);
  return status ? status : care_show(cli, WHENCE_SCHEMA, a);
}
