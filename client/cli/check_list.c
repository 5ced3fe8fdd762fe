/* omcc inspect --check-list=LIST FILE.om: do the ops of a compiled file compute in what a
 * list asked for? A keep_dtype list asks for the model's dtypes, a customize_dtypes list
 * for its own. Ops are found by name and by the original names that the file records, so
 * an op that was fused into another is judged by what that one does. Status 1 when a
 * dtype differs or a line names nothing. */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "cli/inspect.h"
#include "lists/lists.h"

#define SCHEMA "omcc.check-list/1"

struct named {
  struct oc_om_op *op;
  struct named *next; /* another op with this name */
};

struct check {
  struct cli *cli;
  const char *list;
  struct oc_map by_name, by_type; /* -> struct named */
  uint32_t agreed, differed, unknown, unmatched;
};

static bool add(struct check *c, struct oc_map *m, struct oc_str key, struct oc_om_op *op)
{
  struct named *n = OC_NEW(&c->cli->arena, struct named);

  if (!n)
    return false;
  *n = (struct named){ op, oc_map_get(m, key) };
  return oc_map_put(m, key, n) == 0;
}

static bool index_op(struct check *c, struct oc_om_op *op)
{
  const struct oc_om_attr *from =
      oc_om_attr_find(op->attrs, op->n_attrs, "_datadump_original_op_names");
  bool ok = add(c, &c->by_name, op->name, op) && add(c, &c->by_type, op->type, op);

  for (size_t i = 0; ok && from && from->kind == OC_OM_ATTR_STRINGS && i < from->n; i++)
    if (!oc_str_eq(from->u.strings[i], op->name))
      ok = add(c, &c->by_name, from->u.strings[i], op);
  return ok;
}

static bool index_file(struct check *c, const struct oc_om_info *info)
{
  bool ok = true;

  for (uint32_t v = 0; v < info->n_views; v++) {
    struct oc_om_def *def = info->views[v].def;

    for (uint32_t g = 0; def && g < def->n_graphs; g++)
      for (uint32_t i = 0; ok && i < def->graphs[g].n_ops; i++)
        ok = index_op(c, &def->graphs[g].ops[i]);
  }
  return ok;
}

static void place(struct check *c, struct oc_finding *f, uint32_t line)
{
  f->file = c->list;
  f->line = line;
}

/* What one line asks of one tensor; UNDEFINED: nothing. */
struct demand {
  const enum oc_dtype *inputs, *outputs; /* NULL: the model's dtype */
  uint32_t n_inputs, n_outputs;
  struct oc_str name; /* as the list has it */
  uint32_t line;
};

/* The model's dtype as the file records it; UNDEFINED when it does not. */
static enum oc_dtype recorded(const struct oc_om_desc *d)
{
  struct oc_str s = oc_om_attr_str(d->attrs, d->n_attrs, "origin_data_type");

  return s.len ? oc_om_desc_origin_dtype(d) : OC_DT_UNDEFINED;
}

/* A kept dtype that the chip lacks is raised to float32, as the page of --keep_dtype
 * says. */
static bool satisfied(enum oc_dtype wanted, enum oc_dtype got, bool keep)
{
  return wanted == got || (keep && got == OC_DT_F32 && oc_dtype_is_float3(wanted));
}

static void differs(struct check *c, const struct demand *d, const struct oc_om_op *op,
                    enum oc_dtype wanted, enum oc_dtype got)
{
  struct oc_arena *a = &c->cli->arena;
  bool fused = !oc_str_eq(op->name, d->name) && !oc_str_eq(op->type, d->name);
  const char *name = oc_arena_strndup(a, op->name.p, op->name.len);
  const char *listed = fused ? oc_arena_strndup(a, d->name.p, d->name.len) : name;

  place(c,
        oc_finding_add(&c->cli->findings,
                       fused ? OC_FINDING_ARTIFACT_DIFFERS_FUSED
                             : OC_FINDING_ARTIFACT_DIFFERS,
                       listed ? listed : "", "wanted", oc_dtype_name(wanted), "got",
                       oc_dtype_name(got), "into", name ? name : "", NULL),
        d->line);
}

/* One side of an op. True: differs, and was told. */
static bool side_differs(struct check *c, const struct demand *d,
                         const struct oc_om_op *op, bool outputs, uint32_t *known)
{
  const struct oc_om_desc *desc = outputs ? op->output_descs : op->input_descs;
  uint32_t n = outputs ? op->n_output_descs : op->n_input_descs;
  const enum oc_dtype *list = outputs ? d->outputs : d->inputs;
  uint32_t n_list = outputs ? d->n_outputs : d->n_inputs;
  bool keep = !d->inputs && !d->outputs;

  for (uint32_t i = 0; i < n; i++) {
    enum oc_dtype wanted = keep         ? recorded(&desc[i])
                           : i < n_list ? list[i]
                                        : OC_DT_UNDEFINED;

    if (wanted == OC_DT_UNDEFINED || (keep && !oc_dtype_is_float(wanted)))
      continue;
    (*known)++;
    if (satisfied(wanted, desc[i].dtype, keep))
      continue;
    differs(c, d, op, wanted, desc[i].dtype);
    return true;
  }
  return false;
}

static void judge(struct check *c, const struct demand *d, const struct oc_om_op *op)
{
  uint32_t known = 0;

  if (side_differs(c, d, op, false, &known) || side_differs(c, d, op, true, &known))
    c->differed++;
  else if (known)
    c->agreed++;
  else
    c->unknown++;
}

static void one_line(struct check *c, const struct demand *d, bool by_type,
                     struct oc_str text)
{
  struct named *n = oc_map_get(by_type ? &c->by_type : &c->by_name, d->name);
  const char *shown;

  for (struct named *at = n; at; at = at->next)
    judge(c, d, at->op);
  if (n)
    return;
  c->unmatched++;
  shown = oc_arena_strndup(&c->cli->arena, text.p, text.len);
  place(c,
        oc_finding_add(&c->cli->findings, OC_FINDING_ARTIFACT_UNMATCHED,
                       shown ? shown : "", NULL),
        d->line);
}

static void keep_lines(struct check *c, const struct oc_keep_list *l)
{
  for (uint32_t i = 0; i < l->n; i++) {
    const struct oc_keep_entry *e = &l->entries[i];
    struct demand d = { .name = e->name, .line = e->line };

    if (!e->comment || oc_map_has(&c->by_name, e->name))
      one_line(c, &d, e->by_type, e->text);
  }
}

static void custom_lines(struct check *c, const struct oc_custom_list *l)
{
  static const enum oc_dtype nothing[] = { OC_DT_UNDEFINED };

  for (uint32_t i = 0; i < l->n; i++) {
    const struct oc_custom_entry *e = &l->entries[i];
    struct demand d = { .inputs = e->inputs ? e->inputs : nothing,
                        .outputs = e->outputs ? e->outputs : nothing,
                        .n_inputs = e->n_inputs,
                        .n_outputs = e->n_outputs,
                        .name = e->name,
                        .line = e->line };

    if (!e->ignored && (!e->comment || oc_map_has(&c->by_name, e->name)))
      one_line(c, &d, e->by_type, e->text);
  }
}

static bool is_custom(const struct oc_buf *text)
{
  const char *s = oc_buf_str(text);

  return strstr(s, ":InputDtype:") || strstr(s, ":OutputDtype:");
}

static int read_lines(struct check *c, const struct oc_buf *text)
{
  struct oc_findings *fs = &c->cli->findings;
  size_t before = fs->n;
  int rc;

  if (is_custom(text)) {
    struct oc_custom_list *l = NULL;

    rc = oc_custom_parse(&c->cli->arena, text->data, text->len, 0, fs, &l);
    if (!rc)
      custom_lines(c, l);
    oc_custom_clear(l);
  } else {
    struct oc_keep_list *l = NULL;

    rc = oc_keep_parse(&c->cli->arena, text->data, text->len, 0, fs, &l);
    if (!rc)
      keep_lines(c, l);
  }
  for (size_t i = before; i < fs->n; i++)
    if (!*fs->items[i].file)
      fs->items[i].file = c->list;
  return rc;
}

static void show(struct check *c, const char *path, int status)
{
  struct cli *cli = c->cli;
  struct oc_json_writer w;
  struct oc_buf text;

  if (cli->json) {
    cli_json_begin(cli, &w, &text, SCHEMA, status,
                   status ? "the file is not what the list asks for" : "");
    oc_json_put_string(&w, "file", path);
    oc_json_put_string(&w, "list", c->list);
    oc_json_put_u64(&w, "agreed", c->agreed);
    oc_json_put_u64(&w, "differed", c->differed);
    oc_json_put_u64(&w, "unknown", c->unknown);
    oc_json_put_u64(&w, "unmatched", c->unmatched);
    cli_json_end(&w, &text);
    return;
  }
  cli_buf(&text);
  oc_render_findings(&cli->findings, &cli->out_style, &text);
  oc_buf_printf(&text,
                "%u ops agree with the list, %u differ, %u without a recorded model "
                "dtype; %u lines name nothing\n",
                c->agreed, c->differed, c->unknown, c->unmatched);
  cli_out(STDOUT_FILENO, &text);
}

int inspect_check_list(struct cli *cli, const char *path, const struct oc_om_info *info,
                       const char *list)
{
  struct check c = { .cli = cli, .list = list };
  struct oc_buf text;
  int status = cli_read_file(cli, SCHEMA, "check_list", list, &text);
  int rc = 0;

  if (!status && !index_file(&c, info))
    status = cli_refuse(cli, SCHEMA, OMCC_BUG, "out of memory");
  if (!status)
    rc = read_lines(&c, &text);
  if (rc)
    status = cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the list cannot be read");
  if (!status) {
    status = c.differed || c.unmatched ? OMCC_DIFFERS : 0;
    show(&c, path, status);
  }
  oc_buf_clear(&text);
  oc_map_clear(&c.by_name);
  oc_map_clear(&c.by_type);
  return status;
}
