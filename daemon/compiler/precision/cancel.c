/* Opposite Casts that meet on a path cancel out.
 *
 * From every op that does not merely move data we walk towards the producers through ops
 * that do. Two Casts that stand next to each other on the way and undo one another are
 * bypassed on this path; a Cast that still has another consumer stays for that one. A
 * user's own pair float32 -> float16 -> float32 vanishes too, and with it the rounding.
 */
#include "precision_internal.h"

#include <stdlib.h>

#define MAX_STEPS 100u

static bool moves_data(const struct oc_op *op)
{
  static const char *const types[] = { "Cast",       "TransData", "Transpose",
                                       "TransposeD", "Reshape",   "ReFormat" };

  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (oc_op_is(op, types[i]))
      return true;
  return false;
}

static bool converts_floats(const struct oc_op *cast)
{
  enum oc_dtype a = cast->inputs[0].t.got, b = cast->outputs[0].t.got;
  return (oc_dtype_is_float3(a) || a == OC_DT_F64) &&
         (oc_dtype_is_float3(b) || b == OC_DT_F64);
}

static bool cancels(const struct oc_op *earlier, const struct oc_op *later)
{
  if (!oc_op_is(earlier, "Cast") || !oc_op_is(later, "Cast") ||
      later->inputs[0].from_out != 0)
    return false;
  if (earlier->inputs[0].t.got != later->outputs[0].t.got ||
      earlier->outputs[0].t.got != later->inputs[0].t.got)
    return false;
  return converts_floats(earlier) || converts_floats(later) ||
         (earlier->inserted && later->inserted);
}

/* Consumers are counted in a scratch array by position in the graph (op->id). */
struct walk {
  struct oc_run *r;
  struct oc_graph *g;
  uint32_t *uses;
  bool *gone;
  struct oc_op *path[MAX_STEPS];
  uint32_t depth;
};

/* `op` has lost a consumer; a moving op that has none left goes, and so on upwards. */
static void release(struct walk *w, struct oc_op *op)
{
  while (op && --w->uses[op->id] == 0 && oc_op_is(op, "Cast")) {
    w->gone[op->id] = true;
    w->r->result->casts_removed++;
    op = op->inputs[0].from;
  }
}

static void bypass(struct walk *w, struct oc_input *reader, struct oc_op *later,
                   struct oc_op *earlier)
{
  struct oc_op *from = earlier->inputs[0].from;

  w->uses[from->id]++;
  reader->from = from;
  reader->from_out = earlier->inputs[0].from_out;
  release(w, later);
}

static void walk_input(struct walk *w, struct oc_input *in)
{
  struct oc_op *cur = in->from;

  w->depth = 0;
  for (uint32_t steps = 0; cur && moves_data(cur) && cur->n_inputs && steps < MAX_STEPS;
       steps++) {
    struct oc_op *next = cur->inputs[0].from;
    struct oc_op *later = w->depth ? w->path[w->depth - 1] : NULL;
    if (later && next && cancels(cur, later)) {
      w->depth--;
      struct oc_input *reader = w->depth ? &w->path[w->depth - 1]->inputs[0] : in;
      bypass(w, reader, later, cur);
    } else {
      w->path[w->depth++] = cur;
    }
    cur = next;
  }
}

static void walk_graph(struct walk *w, uint32_t n_ops)
{
  for (uint32_t i = 0; i < n_ops; i++) {
    struct oc_op *op = w->g->ops[i];
    if (moves_data(op))
      continue;
    for (uint32_t k = 0; k < op->n_inputs; k++)
      walk_input(w, &op->inputs[k]);
  }
}

/* Marks of removed ops for the sweep; results say that a user's Cast went. */
static void drop_gone(struct walk *w, uint32_t n_ops)
{
  struct oc_run *r = w->r;

  for (uint32_t i = 0; i < n_ops; i++) {
    struct oc_op *op = w->g->ops[i];
    if (w->gone[i] && op->mark)
      r->result->ops[op->mark - 1].removed = true;
    op->mark = w->gone[i];
  }
  oc_graph_sweep(w->g);
}

int oc_casts_cancel(struct oc_run *r, struct oc_graph *g)
{
  uint32_t n_ops = g->n_ops;
  struct walk *w = calloc(1, sizeof *w);
  uint32_t *uses = calloc(n_ops + 1u, sizeof *uses);
  bool *gone = calloc(n_ops + 1u, sizeof *gone);
  int rc = w && uses && gone ? 0 : OC_E_NOMEM;

  if (!rc) {
    *w = (struct walk){ .r = r, .g = g, .uses = uses, .gone = gone };
    for (uint32_t i = 0; i < n_ops; i++)
      g->ops[i]->id = i;
    for (uint32_t i = 0; i < n_ops; i++)
      for (uint32_t k = 0; k < g->ops[i]->n_inputs; k++)
        if (g->ops[i]->inputs[k].from)
          uses[g->ops[i]->inputs[k].from->id]++;
    walk_graph(w, n_ops);
    drop_gone(w, n_ops);
  }
  free(w);
  free(uses);
  free(gone);
  return rc;
}
