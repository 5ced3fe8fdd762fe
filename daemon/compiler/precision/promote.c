/* Type promotion: inputs of one group that mix dtypes are brought to a common one.
 *
 * An op that must be promoted skips every mode, keep_dtype and policy. The rule of two
 * dtypes is the vendor's table; where it has no answer the result is UNDEFINED. */
#include "precision_internal.h"

/* Numbers above this are newer types, for which the vendor's table holds float32. */
#define LAST_PLAIN 33

static bool small_int(enum oc_dtype d)
{
  return d == OC_DT_BOOL || d == OC_DT_U8 || d == OC_DT_I8 || d == OC_DT_I16 ||
         d == OC_DT_I32 || d == OC_DT_I64;
}

static bool wide_uint(enum oc_dtype d)
{
  return d == OC_DT_U16 || d == OC_DT_U32 || d == OC_DT_U64;
}

static int int_rank(enum oc_dtype d)
{
  switch (d) {
  case OC_DT_BOOL: return 0;
  case OC_DT_U8: return 1;
  case OC_DT_I8: return 2;
  case OC_DT_I16: return 3;
  case OC_DT_I32: return 4;
  default: return 5;
  }
}

/* One side is complex. */
static enum oc_dtype with_complex(enum oc_dtype a, enum oc_dtype b)
{
  /* unsigned numbers of 16 bits and more have an answer in this order only */
  if (wide_uint(a))
    return b == OC_DT_C128 || (b == OC_DT_C64 && a == OC_DT_U64) ? OC_DT_C128
           : b == OC_DT_C64                                      ? OC_DT_C64
                                                                 : OC_DT_UNDEFINED;
  if (wide_uint(b))
    return OC_DT_UNDEFINED;
  enum oc_dtype c = oc_dtype_is_complex(a) ? a : b;
  enum oc_dtype o = c == a ? b : a;
  bool known =
      small_int(o) || oc_dtype_is_float3(o) || o == OC_DT_F64 || oc_dtype_is_complex(o);
  if (!known)
    return OC_DT_UNDEFINED;
  if (c == OC_DT_C128 || o == OC_DT_C128 || o == OC_DT_F64)
    return OC_DT_C128;
  if (c == OC_DT_C64 || o == OC_DT_C64 || o == OC_DT_F32 || o == OC_DT_BF16)
    return OC_DT_C64;
  return OC_DT_C32;
}

enum oc_dtype oc_promoted(enum oc_dtype a, enum oc_dtype b)
{
  if (a == b)
    return a;
  if (a == OC_DT_UNDEFINED || b == OC_DT_UNDEFINED)
    return OC_DT_UNDEFINED;
  if (oc_dtype_runtime(a) > LAST_PLAIN || oc_dtype_runtime(b) > LAST_PLAIN)
    return OC_DT_F32;
  if (oc_dtype_is_complex(a) || oc_dtype_is_complex(b))
    return with_complex(a, b);
  bool fa = oc_dtype_is_float3(a) || a == OC_DT_F64,
       fb = oc_dtype_is_float3(b) || b == OC_DT_F64;
  if (fa && fb)
    return a == OC_DT_F64 || b == OC_DT_F64 ? OC_DT_F64 : OC_DT_F32;
  if (fa || fb)
    return small_int(fa ? b : a) ? (fa ? a : b) : OC_DT_UNDEFINED;
  if (!small_int(a) || !small_int(b))
    return OC_DT_UNDEFINED;
  if ((a == OC_DT_U8 && b == OC_DT_I8) || (a == OC_DT_I8 && b == OC_DT_U8))
    return OC_DT_I16;
  return int_rank(a) > int_rank(b) ? a : b;
}

/* The op's own input of that name; -1 when it has none. The table's name of a repeated
 * input is nobody's name: its tensors are called x0, x1... */
static int member(const struct oc_op_info *n, const char *name)
{
  for (uint32_t i = 0; i < n->op->n_inputs; i++)
    if (oc_streq(n->op->inputs[i].t.name, name))
      return (int)i;
  return -1;
}

static enum oc_dtype member_dtype(const struct oc_op_info *n, int i)
{
  return n->op->inputs[i].t.dtype;
}

/* False when an input of the group is missing; `ret_differs` is right all the same for
 * the members before it. */
static bool evaluate(const struct oc_op_info *n, uint32_t group, enum oc_dtype *ret,
                     bool *ret_differs)
{
  const struct oc_promote_group *g = &n->row->promote[group];
  int i0 = member(n, g->names[0]), i1 = member(n, g->names[1]);

  *ret = OC_DT_UNDEFINED;
  *ret_differs = false;
  if (i0 < 0 || i1 < 0)
    return false;
  enum oc_dtype target = oc_promoted(member_dtype(n, i0), member_dtype(n, i1));
  *ret_differs = member_dtype(n, i0) != member_dtype(n, i1);
  for (uint32_t k = 2; k < g->n; k++) {
    int i = member(n, g->names[k]);
    if (i < 0)
      return false;
    if (member_dtype(n, i) == target)
      continue;
    target = oc_promoted(member_dtype(n, i), target);
    *ret_differs = true;
  }
  *ret = target;
  return true;
}

bool oc_promote_needed(const struct oc_op_info *n)
{
  enum oc_dtype target;
  bool whole = true, any = false, differs;

  for (uint32_t g = 0; g < n->row->n_promote && whole; g++) {
    whole = evaluate(n, g, &target, &differs);
    any |= differs;
  }
  return any;
}

static bool has_member(const struct oc_op_info *n, const struct oc_promote_group *g,
                       uint32_t i)
{
  for (uint32_t k = 0; k < g->n; k++)
    if (member(n, g->names[k]) == (int)i)
      return true;
  return false;
}

/* The first group with this input decides, whether its own members differ or not; a group
 * with a missing input makes the question void for all. */
bool oc_promote_admits(const struct oc_op_info *n, uint32_t i)
{
  enum oc_dtype target = OC_DT_UNDEFINED, t;
  bool found = false, differs;

  if (!n->promoted)
    return false;
  for (uint32_t g = 0; g < n->row->n_promote; g++) {
    if (!evaluate(n, g, &t, &differs))
      return false;
    if (!found && has_member(n, &n->row->promote[g], i)) {
      found = true;
      target = t;
    }
  }
  if (target == OC_DT_UNDEFINED)
    return false;
  const uint8_t *c = oc_columns_of(n, i);
  for (uint32_t col = 0; col < n->variant->n_columns; col++)
    if (c[col] && oc_promoted(target, (enum oc_dtype)c[col]) == c[col])
      return true;
  return false;
}

/* Columns equal to the target first, then those it can be promoted to. */
static void narrow(struct oc_run *r, const struct oc_op_info *n, uint32_t i,
                   enum oc_dtype target)
{
  struct oc_set *s = &r->set, *out = &r->spare;
  const uint8_t *c = oc_columns_of(n, i);

  if (!s->n)
    oc_set_all(s, n->variant->n_columns);
  out->n = 0;
  for (uint32_t k = 0; k < s->n; k++)
    if (target && c[s->v[k]] == target)
      out->v[out->n++] = s->v[k];
  for (uint32_t k = 0; k < s->n; k++) {
    enum oc_dtype d = (enum oc_dtype)c[s->v[k]];
    if (d != target && d && oc_promoted(target, d) == d)
      out->v[out->n++] = s->v[k];
  }
  if (!out->n)
    return;
  struct oc_set old = *s;
  *s = *out;
  *out = old;
}

static void promote_member(struct oc_run *r, const struct oc_op_info *n, uint32_t i,
                           enum oc_dtype target, bool record)
{
  struct oc_tensor *t = &n->op->inputs[i].t;

  narrow(r, n, i, target);
  if (!record)
    return;
  t->want = target ? target : t->dtype;
  struct oc_reason *why = oc_reason_add(r, t, OC_RULE_PROMOTE);
  if (why)
    why->dtype = (uint8_t)target;
}

bool oc_promote_apply(struct oc_run *r, const struct oc_op_info *n, bool record)
{
  for (uint32_t g = 0; g < n->row->n_promote; g++) {
    const struct oc_promote_group *group = &n->row->promote[g];
    enum oc_dtype target;
    bool differs;

    if (!evaluate(n, g, &target, &differs))
      return false;
    for (uint32_t k = 0; differs && k < group->n; k++)
      promote_member(r, n, (uint32_t)member(n, group->names[k]), target, record);
  }
  return r->set.n != 0;
}
