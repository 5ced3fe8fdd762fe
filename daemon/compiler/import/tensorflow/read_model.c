/* GraphDef out of the wire: nodes, their inputs and attributes.
 *
 * A SavedModel begins with a number where a GraphDef has a node; a text file begins with
 * letters. Both are told apart here, for both are what people hand over by mistake. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "import/tensorflow/model.h"
#include "wire/wire.h"

enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2, GRAPH_VERSIONS = 4 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTR = 5 };
enum { SAVED_VERSION = 1, SAVED_GRAPHS = 2 };

const struct tf_attr *tf_attr_find(const struct tf_node *n, const char *name)
{
  for (const struct tf_attr *a = n->attrs; a; a = a->next)
    if (strcmp(a->name, name) == 0)
      return a;
  return NULL;
}

/* "node", "node:3" or "^node". */
int tf_read_input(struct import_reader *r, struct oc_str text, struct tf_input *ret)
{
  const void *where = text.p;
  ret->control = text.len > 0 && text.p[0] == '^';
  if (ret->control) {
    text.p++;
    text.len--;
  }
  const char *name = import_string(r, text);
  if (!name)
    return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
  ret->name = name;
  char *colon = strrchr(name, ':');
  uint64_t out = 0;
  if (!colon || ret->control)
    return OC_OK;
  if (!oc_str_to_u64(oc_str_of(colon + 1), &out) || out > UINT32_MAX)
    return import_malformed(r, where, "an input names no output of a node");
  *colon = '\0';
  ret->out = (uint32_t)out;
  return OC_OK;
}

static int read_text(struct import_reader *r, struct oc_str s, const char **ret)
{
  *ret = import_string(r, s);
  if (*ret)
    return OC_OK;
  return r->arena->failed ? OC_E_NOMEM : OC_E_FORMAT;
}

/* One field of a node; `at` counts the inputs read so far, `last` is where the next
 * attribute hangs. */
static int read_node_field(struct import_reader *r, const struct oc_field *f,
                           struct tf_node *n, uint32_t *at, struct tf_attr ***last)
{
  if (f->type != OC_WIRE_BYTES)
    return OC_OK;
  struct oc_str s = oc_field_str(f);
  switch (f->number) {
  case NODE_NAME: return read_text(r, s, &n->name);
  case NODE_OP: return read_text(r, s, &n->op);
  case NODE_INPUT:
    return *at < n->n_inputs ? tf_read_input(r, s, &n->inputs[(*at)++]) : OC_OK;
  case NODE_ATTR: {
    int rc = tf_read_attr(r, s, *last);
    if (!rc)
      *last = &(**last)->next;
    return rc;
  }
  default: return OC_OK;
  }
}

int tf_read_node(struct import_reader *r, struct oc_str body, struct tf_node **ret)
{
  struct tf_node *n = OC_NEW(r->arena, struct tf_node);
  size_t n_inputs = import_count(r, body, NODE_INPUT);
  struct tf_attr **last = n ? &n->attrs : NULL;
  struct oc_wire w;
  struct oc_field f;
  uint32_t at = 0;
  if (n_inputs == SIZE_MAX)
    return import_malformed(r, body.p, "a node is malformed");
  if (n_inputs > OC_MAX_PORTS)
    return import_malformed(r, body.p, "a node has more than 65536 inputs");
  if (!n || !(n->inputs = OC_NEW_N(r->arena, struct tf_input, n_inputs)))
    return OC_E_NOMEM;
  n->n_inputs = (uint32_t)n_inputs;
  n->at = (size_t)((const uint8_t *)body.p - r->base);
  n->name = n->op = "";
  oc_wire_open(&w, body.p, body.len);
  while (oc_wire_next(&w, &f)) {
    int rc = read_node_field(r, &f, n, &at, &last);
    if (rc)
      return rc;
  }
  if (w.bad)
    return import_malformed(r, w.p, w.why);
  n->n_inputs = at;
  if (n->name[0] == '\0' || n->op[0] == '\0')
    return import_malformed(r, body.p, "a node has no name or no operator");
  *ret = n;
  return OC_OK;
}

static int64_t read_producer(struct oc_str versions)
{
  struct oc_wire w;
  struct oc_field f;
  int64_t v = 0;
  oc_wire_open(&w, versions.p, versions.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 1 && f.type == OC_WIRE_VARINT)
      v = oc_field_i64(&f);
  return v;
}

/* Letters, blanks and braces at the start: the text form of a GraphDef. */
static bool is_text(const struct import_reader *r)
{
  static const char *const starts[] = {
    "node {", "node:", "node{", "versions {", "library {", "saved_model_schema_version"
  };
  struct oc_str s = oc_str_trim((struct oc_str){ (const char *)r->base, r->len });
  for (size_t i = 0; i < OC_COUNT(starts); i++)
    if (oc_str_starts(s, starts[i]))
      return true;
  return false;
}

static bool is_saved_model(const struct import_reader *r)
{
  struct oc_wire w;
  struct oc_field f;
  bool version = false;
  oc_wire_open(&w, r->base, r->len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == SAVED_VERSION && f.type == OC_WIRE_VARINT)
      version = true;
    else if (f.number == SAVED_GRAPHS && f.type == OC_WIRE_BYTES && version)
      return true;
    else
      return false;
  }
  return version;
}

static int read_fields(struct import_reader *r, struct tf_model *m)
{
  struct tf_node **last = &m->nodes;
  struct oc_wire w;
  struct oc_field f;
  oc_wire_open(&w, r->base, r->len);
  while (oc_wire_next(&w, &f)) {
    if (f.type != OC_WIRE_BYTES)
      continue;
    int rc = f.number == GRAPH_LIBRARY ? tf_read_library(r, oc_field_str(&f), m) : OC_OK;
    if (rc)
      return rc;
    if (f.number == GRAPH_VERSIONS)
      m->producer = read_producer(oc_field_str(&f));
    if (f.number != GRAPH_NODE)
      continue;
    if (++r->total_nodes > OC_MAX_OPS)
      return import_malformed(r, f.data, "it has more nodes than any model");
    rc = tf_read_node(r, oc_field_str(&f), last);
    if (rc)
      return rc;
    last = &(*last)->next;
    m->n_nodes++;
  }
  return w.bad ? import_malformed(r, w.p, w.why) : OC_OK;
}

int tf_read_model(struct import_reader *r, struct tf_model *ret)
{
  *ret = (struct tf_model){ 0 };
  if (is_text(r)) {
    import_tell(r, OC_FINDING_TF_TEXT, "", NULL, NULL, NULL, NULL);
    return OC_E_FORMAT;
  }
  if (is_saved_model(r)) {
    import_tell(r, OC_FINDING_TF_SAVED_MODEL, "", NULL, NULL, NULL, NULL);
    return OC_E_FORMAT;
  }
  int rc = read_fields(r, ret);
  if (!rc && ret->n_nodes == 0)
    rc = import_malformed(r, r->base, "it has no nodes");
  if (!rc && ret->functions)
    rc = tf_inline_functions(r, ret);
  return rc;
}
