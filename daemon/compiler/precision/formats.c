/* Formats choose among the columns that dtypes have left.
 *
 * In most tables all of them have one dtype combination; where they have several, this
 * pass can change the resulting dtypes. Tables without formats count as ND throughout. */
#include "precision_internal.h"

static enum oc_table_format original(enum oc_format f)
{
  switch (f) {
  case OC_FMT_NCHW: return OC_TF_NCHW;
  case OC_FMT_NHWC: return OC_TF_NHWC;
  case OC_FMT_NCDHW: return OC_TF_NCDHW;
  case OC_FMT_NDHWC: return OC_TF_NDHWC;
  case OC_FMT_HWCN: return OC_TF_HWCN;
  case OC_FMT_DHWCN: return OC_TF_DHWCN;
  case OC_FMT_ND: return OC_TF_ND;
  }
  return OC_TF_OTHER;
}

static const uint8_t *formats_of(const struct oc_op_info *n, uint32_t tensor)
{
  return n->variant->formats + (size_t)n->bind[tensor] * n->variant->n_columns;
}

bool oc_formats_admit(const struct oc_op_info *n, uint32_t tensor)
{
  if (!n->variant->formats || oc_tensor_at(n->op, tensor)->format != OC_FMT_ND)
    return true;
  const uint8_t *f = formats_of(n, tensor);
  for (uint32_t k = 0; k < n->variant->n_columns; k++)
    if (f[k] == OC_TF_ND || f[k] == OC_TF_FRACTAL_NZ || f[k] == OC_TF_FRACTAL_Z)
      return true;
  return false;
}

static bool is_3d(unsigned f)
{
  return f == OC_TF_NCDHW || f == OC_TF_NDHWC || f == OC_TF_DHWCN ||
         f == OC_TF_NDC1HWC0 || f == OC_TF_FRACTAL_Z_3D;
}

static bool is_c04(unsigned f)
{
  return f == OC_TF_NC1HWC0_C04 || f == OC_TF_FRACTAL_Z_C04;
}

enum filter { KEEP_PRIVATE, KEEP_SAME, DROP_5HD, DROP_C04, KEEP_3D, DROP_3D };

static bool passes(enum filter how, unsigned f, enum oc_table_format want)
{
  switch (how) {
  case KEEP_PRIVATE: return f >= OC_TF_FIRST_PRIVATE;
  case KEEP_SAME: return f == want || f == OC_TF_ND;
  case DROP_5HD: return f != OC_TF_NC1HWC0;
  case DROP_C04: return !is_c04(f);
  case KEEP_3D: return is_3d(f) || f == OC_TF_ND;
  case DROP_3D: return !is_3d(f);
  }
  return true;
}

/* False, and nothing changed, when no column would be left (unless `force`). */
static bool filter(struct oc_set *s, const uint8_t *f, enum filter how,
                   enum oc_table_format want, bool force)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < s->n; i++)
    n += passes(how, f[s->v[i]], want);
  if (!n && !force)
    return false;
  n = 0;
  for (uint32_t i = 0; i < s->n; i++)
    if (passes(how, f[s->v[i]], want))
      s->v[n++] = s->v[i];
  s->n = n;
  return true;
}

static bool one_of(const char *type, const char *const *names)
{
  for (; *names; names++)
    if (oc_streq(type, *names))
      return true;
  return false;
}

void oc_formats_apply(const struct oc_op_info *n, struct oc_set *s, const uint32_t *order,
                      uint32_t n_order)
{
  static const char *const c04[] = { "Conv2D", "Conv2DBackpropFilter",
                                     "Conv2DBackpropFilterD", NULL };
  static const char *const matmul[] = { "MatMul", "MatMulV2", "BatchMatMul",
                                        "BatchMatMulV2", NULL };
  bool heavy = n->row->flags & OC_TABLE_HEAVY;

  if (!n->variant->formats)
    return;
  for (uint32_t i = 0; heavy && i < n->n_tensors && one_of(n->op->type, c04); i++)
    filter(s, formats_of(n, i), DROP_C04, OC_TF_ND, false);
  for (uint32_t i = 0; i < n->n_tensors; i++) {
    enum oc_table_format f = original(oc_tensor_at(n->op, i)->format);
    if (f != OC_TF_ND)
      filter(s, formats_of(n, i), is_3d(f) ? KEEP_3D : DROP_3D, f, false);
  }
  for (uint32_t k = 0; k < n_order; k++) {
    const uint8_t *f = formats_of(n, order[k]);
    enum oc_table_format want = original(oc_tensor_at(n->op, order[k])->format);
    if (heavy && !one_of(n->op->type, matmul))
      filter(s, f, KEEP_PRIVATE, want, false);
    if (!filter(s, f, KEEP_SAME, want, false) && want == OC_TF_ND)
      filter(s, f, DROP_5HD, want, true);
  }
}
