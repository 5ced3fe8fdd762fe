/* What every list entry costs: Casts, bytes, ops that left the AI Core.
 *
 * An entry is charged with the difference between the result and the result in the world
 * without it. Ops in which the two worlds differ carry a citation, so only these and
 * their neighbours are looked at. A constant gets no Cast at run time: its bytes count as
 * its reader wants them. */
#include "precision_internal.h"

struct ledger {
  struct oc_run *r;
  struct oc_entry_result **keep, **custom, **mix; /* by entry number - 1 */
};

static struct oc_entry_result **shelf(const struct ledger *l, char flag)
{
  return flag == 'k' ? l->keep : flag == 'c' ? l->custom : flag == 'm' ? l->mix : NULL;
}

static struct oc_entry_result *account(const struct ledger *l, struct oc_cite c)
{
  struct oc_entry_result **s = c.entry ? shelf(l, c.flag) : NULL;

  return s ? s[c.entry - 1] : NULL;
}

static bool open_ledger(struct ledger *l)
{
  const struct oc_precision_options *o = l->r->o;
  const struct oc_precision_result *p = l->r->result;

  l->keep =
      OC_NEW_N(l->r->a, struct oc_entry_result *, o->keep ? (size_t)o->keep->n + 1 : 1);
  l->custom = OC_NEW_N(l->r->a, struct oc_entry_result *,
                       o->custom ? (size_t)o->custom->n + 1 : 1);
  l->mix =
      OC_NEW_N(l->r->a, struct oc_entry_result *, o->mix ? (size_t)o->mix->n + 1 : 1);
  if (!l->keep || !l->custom || !l->mix)
    return false;
  for (size_t i = 0; i < p->n_entries; i++) {
    struct oc_entry_result *e = &p->entries[i];
    char flag = oc_streq(e->flag, "keep_dtype")         ? 'k'
                : oc_streq(e->flag, "customize_dtypes") ? 'c'
                                                        : 'm';
    shelf(l, flag)[e->entry - 1] = e;
  }
  return true;
}

/* Bytes of a tensor in one dtype, 0 when its size is not known. */
static int64_t bytes_of(const struct oc_tensor *t, enum oc_dtype d)
{
  uint64_t n = 1, bytes;

  if (!t->shape.known_rank)
    return 0;
  for (uint32_t i = 0; i < t->shape.rank; i++)
    if (t->shape.dims[i] < 0 || __builtin_mul_overflow(n, t->shape.dims[i], &n))
      return 0;
  return oc_dtype_bytes(d, n, &bytes) && bytes < (uint64_t)1 << 60 ? (int64_t)bytes : 0;
}

static bool is_constant(const struct oc_op *from)
{
  return from && oc_op_is_const(from);
}

static void charge_op(const struct oc_op_info *n, const struct oc_verdict *without,
                      struct oc_entry_result *e)
{
  struct oc_op *op = n->op;

  e->moved += op->engine != OC_ENGINE_AICORE && without->engine == OC_ENGINE_AICORE;
  for (uint32_t i = 0; i < n->n_tensors; i++) {
    const struct oc_tensor *t = oc_tensor_at(op, i);

    if (i < op->n_inputs && !is_constant(op->inputs[i].from))
      continue;
    e->bytes_added += bytes_of(t, t->got) - bytes_of(t, oc_verdict_dtype(n, without, i));
  }
}

/* One edge in the world without `c`; `without` is the reader's verdict there. */
static int32_t cast_change(const struct ledger *l, const struct oc_op_info *n, uint32_t k,
                           const struct oc_verdict *without, struct oc_cite c)
{
  const struct oc_input *in = &n->op->inputs[k];
  struct oc_world w = { .without = c };
  enum oc_dtype real = in->from->outputs[in->from_out].t.got;
  enum oc_dtype other = oc_world_delivers(l->r, in->from, in->from_out, &w);
  enum oc_dtype wants = without ? oc_verdict_dtype(n, without, k) : in->t.got;

  return (real != in->t.got) - (other != wants);
}

/* Edges into `n`: its own entry is charged, and the producer's when that is another. */
static void charge_edges(const struct ledger *l, const struct oc_op_info *n,
                         const struct oc_verdict *without)
{
  struct oc_entry_result *own = account(l, n->cite);

  for (uint32_t k = 0; k < n->op->n_inputs; k++) {
    const struct oc_op *from = n->op->inputs[k].from;

    if (!from || !from->mark || is_constant(from))
      continue;
    struct oc_cite c = oc_info(l->r, from)->cite;
    struct oc_entry_result *other = account(l, c);
    if (own)
      own->casts_added += cast_change(l, n, k, without, n->cite);
    if (other && other != own)
      other->casts_added += cast_change(l, n, k, NULL, c);
  }
}

void oc_effects(struct oc_run *r)
{
  struct ledger l = { .r = r };

  if (!r->result->n_entries)
    return;
  if (!open_ledger(&l)) {
    r->failed = true;
    return;
  }
  for (uint32_t i = 0; i < r->n_infos; i++) {
    struct oc_op_info *n = &r->infos[i];
    struct oc_entry_result *e = account(&l, n->cite);
    struct oc_world w = { .without = n->cite };
    struct oc_verdict without;

    if (e) {
      oc_judge(r, n, &w, false, &without);
      charge_op(n, &without, e);
    }
    charge_edges(&l, n, e ? &without : NULL);
  }
}
