/* MODEL_DEF: model, graphs, ops, tensor descriptors.
 *
 * Two passes over each message: count, allocate exactly, fill. Nothing here recurses: the
 * levels are fixed, and graphs or functions inside attributes stay raw. */
#include <string.h>

#include "om_internal.h"

/* Structures may take this many times the bytes they were read from, plus a little. The
 * densest honest thing (a control edge, an unconnected input) is far below. The words of
 * a file's dictionary, each counted wherever a number stands for it, may take as much
 * again: else one long word and many numbers would be told as a text of any size. */
#define BUDGET_FACTOR 48
#define BUDGET_BASE   (1u << 20)

void *om_alloc(struct om_reader *r, size_t n, size_t size)
{
  void *p = NULL;

  if (n <= r->left / size) {
    r->left -= n * size;
    p = oc_arena_calloc(r->arena, n, size);
  }
  if (!p)
    oc_error_set(r->err, OC_E_NOMEM,
                 "MODEL_DEF needs more memory than its size justifies");
  return p;
}

int om_bad(struct om_reader *r, const char *what)
{
  return oc_error_set(r->err, OC_E_FORMAT, "MODEL_DEF: %s", what);
}

int om_count(struct om_reader *r, struct oc_str msg, uint32_t number, uint32_t *ret)
{
  struct oc_wire w;
  struct oc_field f;
  uint32_t n = 0;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f))
    n += f.number == number;
  *ret = n;
  return w.bad ? om_bad(r, w.why) : 0;
}

int om_read_strings(struct om_reader *r, struct oc_str msg, uint32_t number,
                    struct oc_str **ret, uint32_t *ret_n)
{
  struct oc_wire w;
  struct oc_field f;
  uint32_t n, at = 0;
  int rc = om_count(r, msg, number, &n);

  if (rc < 0)
    return rc;
  struct oc_str *v = om_alloc(r, n, sizeof *v);
  if (!v)
    return OC_E_NOMEM;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f))
    if (f.number == number)
      v[at++] = oc_field_str(&f);
  *ret = v;
  *ret_n = n;
  return 0;
}

int om_read_ints(struct om_reader *r, struct oc_str msg, uint32_t number,
                 const int64_t **ret, uint32_t *ret_n)
{
  struct oc_wire w;
  struct oc_field f;
  size_t n = 0, at = 0;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number != number)
      continue;
    size_t k = oc_field_varints(&f, NULL, 0);
    if (k == SIZE_MAX)
      return om_bad(r, "a list of integers is malformed");
    n += k;
  }
  if (w.bad)
    return om_bad(r, w.why);
  int64_t *v = om_alloc(r, n, sizeof *v);
  if (!v)
    return OC_E_NOMEM;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f))
    if (f.number == number)
      at += oc_field_varints(&f, v + at, n - at);
  *ret = v;
  *ret_n = (uint32_t)n;
  return 0;
}

int om_read_desc(struct om_reader *r, struct oc_str msg, struct oc_om_desc *d)
{
  struct oc_wire w;
  struct oc_field f;
  int rc = 0;

  oc_wire_open(&w, msg.p, msg.len);
  while (rc == 0 && oc_wire_next(&w, &f))
    switch (f.number) {
    case 1: d->name = oc_field_str(&f); break;
    case 2: d->dtype = f.u < OC_DT_COUNT ? (enum oc_dtype)f.u : OC_DT_UNDEFINED; break;
    case 3: rc = om_read_ints(r, oc_field_str(&f), 1, &d->dims, &d->rank); break;
    case 4: d->layout = oc_field_str(&f); break;
    case 10: d->size = oc_field_i64(&f); break;
    case 11: d->weight_size = oc_field_i64(&f); break;
    case 18: d->data_offset = oc_field_i64(&f); break;
    }
  if (rc < 0)
    return rc;
  if (w.bad)
    return om_bad(r, w.why);
  return om_read_attrs(r, msg, 5, false, &d->attrs, &d->n_attrs);
}

static int read_descs(struct om_reader *r, struct oc_str msg, uint32_t number,
                      struct oc_om_desc **ret, uint32_t *ret_n)
{
  struct oc_wire w;
  struct oc_field f;
  uint32_t n, at = 0;
  int rc = om_count(r, msg, number, &n);

  if (rc < 0)
    return rc;
  struct oc_om_desc *v = om_alloc(r, n, sizeof *v);
  if (!v)
    return OC_E_NOMEM;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number != number)
      continue;
    rc = om_read_desc(r, oc_field_str(&f), &v[at++]);
    if (rc < 0)
      return rc;
  }
  *ret = v;
  *ret_n = n;
  return 0;
}

static int read_op(struct om_reader *r, struct oc_str msg, struct oc_om_op *op)
{
  struct oc_wire w;
  struct oc_field f;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f))
    switch (f.number) {
    case 1: op->name = oc_field_str(&f); break;
    case 2: op->type = oc_field_str(&f); break;
    case 21: op->id = oc_field_i64(&f); break;
    case 22: op->stream_id = oc_field_i64(&f); break;
    }
  if (w.bad)
    return om_bad(r, w.why);
  int rc = om_read_strings(r, msg, 5, &op->inputs, &op->n_inputs);
  if (rc == 0)
    rc = om_read_attrs(r, msg, 10, true, &op->attrs, &op->n_attrs);
  if (rc == 0)
    rc = om_read_strings(r, msg, 24, &op->src_names, &op->n_src_names);
  if (rc == 0)
    rc = om_read_ints(r, msg, 25, &op->src_indices, &op->n_src_indices);
  if (rc == 0)
    rc = om_read_strings(r, msg, 26, &op->dst_names, &op->n_dst_names);
  if (rc == 0)
    rc = om_read_ints(r, msg, 27, &op->dst_indices, &op->n_dst_indices);
  if (rc == 0)
    rc = om_read_ints(r, msg, 28, &op->input_offsets, &op->n_input_offsets);
  if (rc == 0)
    rc = om_read_ints(r, msg, 29, &op->output_offsets, &op->n_output_offsets);
  if (rc == 0)
    rc = om_read_ints(r, msg, 32, &op->input_is_const, &op->n_input_is_const);
  if (rc == 0)
    rc = read_descs(r, msg, 33, &op->input_descs, &op->n_input_descs);
  if (rc == 0)
    rc = read_descs(r, msg, 34, &op->output_descs, &op->n_output_descs);
  if (rc == 0)
    rc = om_read_strings(r, msg, 35, &op->subgraphs, &op->n_subgraphs);
  return rc;
}

static int read_graph(struct om_reader *r, struct oc_str msg, struct oc_om_graph *g)
{
  struct oc_wire w;
  struct oc_field f;
  uint32_t at = 0;
  int rc = om_count(r, msg, 6, &g->n_ops);

  if (rc < 0)
    return rc;
  g->ops = om_alloc(r, g->n_ops, sizeof *g->ops);
  if (!g->ops)
    return OC_E_NOMEM;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1)
      g->name = oc_field_str(&f);
    if (f.number != 6)
      continue;
    rc = read_op(r, oc_field_str(&f), &g->ops[at++]);
    if (rc < 0)
      return rc;
  }
  rc = om_read_strings(r, msg, 4, &g->inputs, &g->n_inputs);
  if (rc == 0)
    rc = om_read_strings(r, msg, 5, &g->outputs, &g->n_outputs);
  return rc < 0 ? rc : om_read_attrs(r, msg, 11, false, &g->attrs, &g->n_attrs);
}

/* The dictionary stands among the model's attributes, behind the graphs that need it. */
static void find_dictionary(struct om_reader *r, struct oc_om_def *def,
                            const struct oc_om_def *root)
{
  if (oc_om_attr_int(def->attrs, def->n_attrs, "om_compress_version", 0) > 0) {
    def->dict_names = oc_om_attr_find(def->attrs, def->n_attrs, "attr_name_enum");
    def->dict_values = oc_om_attr_find(def->attrs, def->n_attrs, "attr_value_enum");
    def->dict_is_string =
        oc_om_attr_find(def->attrs, def->n_attrs, "attrs_use_string_value");
  } else if (root) {
    def->dict_names = root->dict_names;
    def->dict_values = root->dict_values;
    def->dict_is_string = root->dict_is_string;
  }
  def->compressed = def->dict_names != NULL;
  r->names = def->dict_names;
  r->values = def->dict_values;
  r->is_string = def->dict_is_string;
}

int oc_om_read_def(struct oc_str bytes, const struct oc_om_def *root,
                   struct oc_arena *arena, struct oc_om_def **ret, struct oc_error *err)
{
  struct om_reader r = { .arena = arena, .err = err };
  struct oc_om_def *def = OC_NEW(arena, struct oc_om_def);
  struct oc_wire w;
  struct oc_field f;
  uint32_t at = 0;

  if (!def)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  r.left = bytes.len > (SIZE_MAX - BUDGET_BASE) / BUDGET_FACTOR
               ? SIZE_MAX
               : bytes.len * BUDGET_FACTOR + BUDGET_BASE;
  r.words_left = r.left;
  int rc = om_count(&r, bytes, 7, &def->n_graphs);
  if (rc == 0)
    rc = om_read_attrs(&r, bytes, 11, true, &def->attrs, &def->n_attrs);
  if (rc < 0)
    return rc;
  find_dictionary(&r, def, root);
  def->graphs = om_alloc(&r, def->n_graphs, sizeof *def->graphs);
  if (!def->graphs)
    return OC_E_NOMEM;
  oc_wire_open(&w, bytes.p, bytes.len);
  while (rc == 0 && oc_wire_next(&w, &f)) {
    if (f.number == 1)
      def->name = oc_field_str(&f);
    else if (f.number == 2)
      def->ir_version = oc_field_i64(&f);
    else if (f.number == 3)
      def->platform = oc_field_str(&f);
    else if (f.number == 7)
      rc = read_graph(&r, oc_field_str(&f), &def->graphs[at++]);
  }
  if (rc < 0)
    return rc;
  *ret = def;
  return 0;
}
