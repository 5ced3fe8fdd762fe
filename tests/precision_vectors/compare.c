/* Everything a case expects, against what happened. */
#include <string.h>

#include "vectors.h"

static const char *engine_word(const struct oc_op *op)
{
  switch (op->engine) {
  case OC_ENGINE_AICORE: return "aicore";
  case OC_ENGINE_FRAMEWORK: return "ge";
  default: return "other";
  }
}

static void compare_word(struct oc_buf *out, const char *where, const char *what,
                         const char *expected, const char *got)
{
  if (!oc_streq(expected, got))
    oc_buf_printf(out, "  %s %s: expected %s, got %s\n", where, what,
                  expected ? expected : "-", got ? got : "-");
}

/* ---- nodes */

static void compare_side(struct oc_buf *out, const struct oc_op *op,
                         const struct oc_json *list, bool inputs)
{
  uint32_t n = inputs ? op->n_inputs : op->n_outputs, i = 0;

  for (const struct oc_json *v = list ? list->first : NULL; v; v = v->next, i++) {
    const struct oc_tensor *t = i >= n   ? NULL
                                : inputs ? &op->inputs[i].t
                                         : &op->outputs[i].t;
    const char *got = t ? oc_dtype_name(t->got) : NULL;
    enum oc_dtype want;
    if (t && oc_dtype_parse(oc_str_of(oc_json_string(v, "")), &want) && want == t->got)
      continue;
    oc_buf_printf(out, "  %s %s %u: expected %s, got %s\n", op->name,
                  inputs ? "input" : "output", i, oc_json_string(v, "?"),
                  got ? got : "-");
  }
  if (i != n)
    oc_buf_printf(out, "  %s: expected %u %s, got %u\n", op->name, i,
                  inputs ? "inputs" : "outputs", n);
}

static void compare_nodes(const struct vec_case *c, const struct oc_json *nodes,
                          struct oc_buf *out)
{
  for (const struct oc_json *v = nodes ? nodes->first : NULL; v; v = v->next) {
    const struct oc_op *op = oc_map_gets(&c->nodes, v->key);
    const struct oc_json *engine = oc_json_get(v, "engine");
    int64_t column;
    if (!op) {
      oc_buf_printf(out, "  %s: no such op\n", v->key);
      continue;
    }
    compare_side(out, op, oc_json_get(v, "inputs"), true);
    compare_side(out, op, oc_json_get(v, "outputs"), false);
    if (engine)
      compare_word(out, v->key, "engine", oc_json_string(engine, ""), engine_word(op));
    if (oc_json_i64(oc_json_get(v, "column"), &column) && column != op->column)
      oc_buf_printf(out, "  %s column: expected %d, got %d\n", v->key, (int)column,
                    op->column);
  }
}

static void compare_engines(const struct vec_case *c, const struct oc_json *engines,
                            struct oc_buf *out)
{
  for (const struct oc_json *v = engines ? engines->first : NULL; v; v = v->next) {
    const struct oc_op *op = oc_map_gets(&c->nodes, v->key);
    compare_word(out, v->key, "engine", oc_json_string(v, ""),
                 op ? engine_word(op) : NULL);
  }
}

/* ---- keep marks */

static bool in_list(const struct oc_json *list, const char *name)
{
  for (const struct oc_json *v = list ? list->first : NULL; v; v = v->next)
    if (oc_str_is(v->text, name))
      return true;
  return false;
}

static void compare_not_found(const struct vec_outcome *o, const struct oc_json *expect,
                              struct oc_buf *out)
{
  const struct oc_keep_marks *m = o->marks;
  int64_t n = 0;
  uint32_t i = 0;

  if (!expect || expect->kind != OC_JSON_OBJECT) {
    if (m->n_not_found && !m->failed)
      oc_buf_printf(out, "  keep_dtype: expected no missing lines, got %u\n",
                    m->n_not_found);
    return;
  }
  if (!oc_json_i64(oc_json_get(expect, "count"), &n) || n != m->n_not_found)
    oc_buf_printf(out, "  keep_dtype: expected %d missing lines, got %u\n", (int)n,
                  m->n_not_found);
  for (const struct oc_json *v = oc_json_get(expect, "listed")->first; v;
       v = v->next, i++) {
    if (i >= m->n_not_found)
      break;
    const struct oc_keep_entry *e = &o->keep->entries[m->not_found[i] - 1];
    const char *kind = e->by_type ? "type" : "name";
    compare_word(out, "keep_dtype", "kind of a missing line",
                 oc_json_string(oc_json_get(v, "kind"), ""), kind);
    if (!oc_str_is(e->name, oc_json_string(oc_json_get(v, "text"), "")))
      oc_buf_printf(out, "  keep_dtype: missing line %u is '%.*s'\n", i, (int)e->name.len,
                    e->name.p);
  }
  if (i != (m->n_not_found < 10 ? m->n_not_found : 10))
    oc_buf_printf(out, "  keep_dtype: %u missing lines are listed\n", i);
  if (oc_json_bool(oc_json_get(expect, "truncated"), false) != (m->n_not_found > 10))
    oc_buf_puts(out, "  keep_dtype: truncated differs\n");
}

static void compare_keep(const struct vec_outcome *o, const struct oc_json *expect,
                         struct oc_buf *out)
{
  const struct oc_json *marked = oc_json_get(expect, "marked");

  if (!expect)
    return;
  if (!o->marks) {
    oc_buf_puts(out, "  keep_dtype: nothing was marked\n");
    return;
  }
  if (oc_json_bool(oc_json_get(expect, "ok"), true) == o->marks->failed)
    oc_buf_printf(out, "  keep_dtype: %s\n", o->marks->failed ? "refused" : "accepted");
  for (size_t i = 0; i < o->n_marked; i++)
    if (!in_list(marked, o->marked[i]->name))
      oc_buf_printf(out, "  keep_dtype: '%s' is marked\n", o->marked[i]->name);
  if (marked && marked->n != o->n_marked)
    oc_buf_printf(out, "  keep_dtype: expected %zu marks, got %zu\n", marked->n,
                  o->n_marked);
  compare_not_found(o, oc_json_get(expect, "not_found"), out);
}

/* ---- errors */

/* Engines that nobody asked, and repetitions of one error, are not part of a case. */
static const struct oc_finding *next_error(const struct oc_findings *fs, size_t *at)
{
  while (*at < fs->n) {
    const struct oc_finding *f = &fs->items[(*at)++];
    const char *code = oc_finding_info(f->id)->vendor_code;
    if (f->severity == OC_SEV_ERROR && *code && !oc_streq(code, "EZ3003"))
      return f;
  }
  return NULL;
}

/* The value that the vendor names in the arguments of this error, NULL when it is a path.
 */
static const char *named_value(const struct oc_finding *f, const char **ret_key)
{
  *ret_key = "value";
  switch (f->id) {
  case OC_FINDING_MODE_UNKNOWN:
  case OC_FINDING_MODE_NEEDS_BF16: return f->subject;
  case OC_FINDING_CUSTOMIZE_DTYPE: *ret_key = "parameter"; return f->subject;
  default: return NULL;
  }
}

static bool same_error(const struct oc_json *a, const struct oc_json *b)
{
  return oc_streq(oc_json_string(oc_json_get(a, "code"), ""),
                  oc_json_string(oc_json_get(b, "code"), ""));
}

static void compare_errors(const struct vec_outcome *o, const struct oc_json *errors,
                           struct oc_buf *out)
{
  size_t at = 0;
  const struct oc_json *last = NULL;

  for (const struct oc_json *v = errors ? errors->first : NULL; v; v = v->next) {
    const char *key;
    if (last && same_error(last, v))
      continue;
    last = v;
    const char *code = oc_json_string(oc_json_get(v, "code"), "");
    const struct oc_finding *f = next_error(&o->findings, &at);
    compare_word(out, "error", "code", code,
                 f ? oc_finding_info(f->id)->vendor_code : NULL);
    const char *value = f ? named_value(f, &key) : NULL;
    if (value)
      compare_word(out, code, key,
                   oc_json_string(oc_json_get(oc_json_get(v, "args"), key), NULL), value);
  }
  const struct oc_finding *more = next_error(&o->findings, &at);
  if (more)
    oc_buf_printf(out, "  error %s was not expected\n",
                  oc_finding_info(more->id)->vendor_code);
}

void vec_compare(const struct vec_case *c, const struct vec_outcome *o,
                 struct oc_buf *out)
{
  const struct oc_json *e = oc_json_get(c->json, "expect");
  const char *status = oc_json_string(oc_json_get(e, "status"), "");
  int64_t mode;

  /* where the vendor's program dies, an error is right */
  if (oc_streq(status, "crash")) {
    if (oc_streq(o->status, "ok"))
      oc_buf_puts(out, "  expected an error\n");
    return;
  }
  compare_word(out, "case", "status", status, o->status);
  if (oc_json_i64(oc_json_get(e, "mode_enum"), &mode) && mode != (int64_t)o->mode.mode)
    oc_buf_printf(out, "  mode: expected %d, got %d\n", (int)mode, (int)o->mode.mode);
  compare_errors(o, oc_json_get(e, "errors"), out);
  compare_keep(o, oc_json_get(e, "keep_dtype"), out);
  compare_engines(c, oc_json_get(e, "engine"), out);
  compare_nodes(c, oc_json_get(e, "nodes"), out);
  if (oc_json_get(e, "edges") && o->result)
    vec_compare_edges(c, o, oc_json_get(e, "edges"), out);
}
