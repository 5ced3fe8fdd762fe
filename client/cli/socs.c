/* omcc explain --list-socs: the products of the vendor's pages and the target strings
 * that belong to them, from the tables that the daemon's worker has read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/explain.h"

#define SCHEMA     "omcc.socs/1"
#define TIMEOUT_MS 20000

static int ask(struct cli *cli, Omcc__V1__Socs **ret)
{
  struct omcc_error err = { 0 };
  struct omcc *c = NULL;
  ProtobufCMessage *m = NULL;
  uint8_t *bytes = NULL;
  size_t len = 0;
  int status = 0;
  int rc = cli_connect(cli, OMCC_START_IF_MISSING, &c, &err);

  if (!rc)
    rc = omcc_ask(c, OMCC_ASK_SOCS, 0, TIMEOUT_MS, &bytes, &len, &err);
  if (rc < 0)
    status = cli_fail(cli, SCHEMA, &err);
  else if (oc_message_unpack(&omcc__v1__socs__descriptor, bytes, len, &cli->arena, &m,
                             NULL))
    status = cli_refuse(cli, SCHEMA, OMCC_DAEMON, "the daemon's answer cannot be read");
  *ret = (Omcc__V1__Socs *)m;
  free(bytes);
  if (c)
    omcc_close(c);
  return status;
}

static void show_json(struct cli *cli, const Omcc__V1__Socs *socs)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_json_begin(cli, &w, &text, SCHEMA, 0, "");
  oc_json_begin_array(&w, "socs");
  for (size_t i = 0; i < socs->n_socs; i++) {
    const Omcc__V1__Soc *s = socs->socs[i];

    oc_json_begin_object(&w, NULL);
    oc_json_put_string(&w, "name", s->name);
    oc_json_put_string(&w, "family", s->family);
    oc_json_put_string(&w, "product", s->product);
    oc_json_put_string(&w, "product_zh", s->product_zh);
    oc_json_put_string(&w, "table", s->table);
    oc_json_put_bool(&w, "listed", s->listed);
    oc_json_put_bool(&w, "bfloat16", s->bf16);
    oc_json_end_object(&w);
  }
  oc_json_end_array(&w);
  cli_json_end(&w, &text);
}

static void family_head(const Omcc__V1__Soc *s, struct oc_buf *out)
{
  oc_render_plain(s->product, out);
  oc_buf_puts(out, "\n  ");
  oc_render_plain(s->product_zh, out);
  oc_buf_printf(out, "\n  table %s, %s\n", s->table,
                s->bf16 ? "float16 and bfloat16" : "float16");
  if (!s->listed)
    oc_buf_puts(out, "  not listed on the vendor's page of --keep_dtype\n");
}

static void show_text(const Omcc__V1__Socs *socs)
{
  struct oc_buf text;

  cli_buf(&text);
  for (size_t i = 0; i < socs->n_socs; i++) {
    if (!i || !oc_streq(socs->socs[i]->family, socs->socs[i - 1]->family))
      family_head(socs->socs[i], &text);
    oc_buf_printf(&text, "    --soc_version=%s\n", socs->socs[i]->name);
  }
  cli_out(STDOUT_FILENO, &text);
}

int explain_list_socs(struct cli *cli)
{
  Omcc__V1__Socs *socs = NULL;
  int status = cli_parse(cli, CLI_WORDS);

  if (!status && oc_findings_have_errors(&cli->findings))
    status = cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  if (!status)
    status = ask(cli, &socs);
  if (status)
    return status;
  if (cli->json)
    show_json(cli, socs);
  else
    show_text(socs);
  return 0;
}
