/* Everything about a file that a person may ask, weights and kernel bodies left where
 * they are. A file is called device-ready when each of its AI Core tasks finds its binary
 * in the file and the file does not carry the mark of the builtin backend. */
#include <string.h>

#include "base/limits.h"
#include "om_internal.h"

static int load(const struct oc_om_file *f, const struct oc_om_model *m, uint32_t type,
                uint64_t limit, struct oc_arena *arena, struct oc_str *ret,
                struct oc_error *err)
{
  const struct oc_om_part *p = oc_om_find_part(m, type);

  *ret = oc_str_of("");
  if (!p)
    return 0;
  if (p->size > limit)
    return oc_error_set(
        err, OC_E_FORMAT, "partition %s has %llu bytes, %llu are possible",
        oc_om_part_name(type), (unsigned long long)p->size, (unsigned long long)limit);
  return oc_om_load_part(f, p, arena, ret, err);
}

static int read_view(const struct oc_om_file *f, uint32_t index,
                     const struct oc_om_def *root, struct oc_arena *arena,
                     struct oc_om_view *v, struct oc_error *err)
{
  const struct oc_om_model *m = &f->models[index];
  struct oc_str bytes, kernels;
  int rc = load(f, m, OC_OM_MODEL_DEF, OC_MAX_MODEL_DEF, arena, &bytes, err);

  if (rc == 0 && !oc_om_find_part(m, OC_OM_MODEL_DEF))
    rc = oc_error_set(err, OC_E_FORMAT, "the file has no MODEL_DEF");
  if (rc == 0)
    rc = oc_om_read_def(bytes, root, arena, &v->def, err);
  if (rc < 0)
    return rc;
  v->def_size = bytes.len;
  rc = load(f, m, OC_OM_INOUT, OC_MAX_MODEL_DEF, arena, &bytes, err);
  if (rc == 0)
    rc = oc_om_read_inout(bytes, arena, &v->inputs, &v->n_inputs, &v->outputs,
                          &v->n_outputs, err);
  if (rc == 0)
    rc = oc_om_read_profiles(bytes, arena, &v->profiles, err);
  if (rc < 0 || !oc_om_find_part(m, OC_OM_TASK_INFO))
    return rc;
  rc = load(f, m, OC_OM_TASK_INFO, OC_MAX_MODEL_DEF, arena, &bytes, err);
  if (rc == 0)
    rc = load(f, m, OC_OM_TBE_KERNELS, SIZE_MAX, arena, &kernels, err);
  if (rc == 0)
    rc = oc_om_read_tasks(bytes, kernels, &v->tasks, err);
  v->has_tasks = rc == 0;
  return rc;
}

int oc_om_inspect(struct oc_om_source source, struct oc_arena *arena,
                  struct oc_om_info **ret, struct oc_error *err)
{
  struct oc_om_info *info = OC_NEW(arena, struct oc_om_info);

  if (!info)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  int rc = oc_om_open(source, arena, &info->file, err);
  if (rc < 0)
    return rc;
  if (info->file->bundle || info->file->header.modeltype == OC_OM_TYPE_FLOW)
    if (!oc_om_find_part(&info->file->models[0], OC_OM_MODEL_DEF))
      return oc_error_set(err, OC_E_FORMAT,
                          "the file holds other .om files, which are not shown");
  info->n_views = info->file->n_models;
  info->views = OC_NEW_N(arena, struct oc_om_view, info->n_views);
  if (!info->views)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  info->builtin =
      strncmp(info->file->header.userdefineinfo, OC_OM_MARK, strlen(OC_OM_MARK)) == 0;
  info->device_ready = !info->builtin;
  for (uint32_t i = 0; i < info->n_views; i++) {
    struct oc_om_view *v = &info->views[i];
    rc = read_view(info->file, i, i ? info->views[0].def : NULL, arena, v, err);
    if (rc < 0)
      return rc;
    bool one_part = info->file->models[i].n_parts < 2; /* loaders refuse those */
    if (one_part || (!v->has_tasks && info->n_views == 1) || v->tasks.n_absent)
      info->device_ready = false;
  }
  *ret = info;
  return 0;
}

/* `_input_name_key` lists the names that are linked, `_input_name_value` their indices.
 */
static struct oc_str name_of(const struct oc_om_op *op, const char *keys,
                             const char *values, uint32_t i)
{
  const struct oc_om_attr *k = oc_om_attr_find(op->attrs, op->n_attrs, keys);
  const struct oc_om_attr *v = oc_om_attr_find(op->attrs, op->n_attrs, values);

  if (k && k->kind == OC_OM_ATTR_STRINGS && v && v->kind == OC_OM_ATTR_INTS)
    for (size_t n = 0; n < k->n && n < v->n; n++)
      if (v->u.ints[n] == (int64_t)i)
        return k->u.strings[n];
  return oc_str_of("");
}

struct oc_str oc_om_op_input_name(const struct oc_om_op *op, uint32_t i)
{
  return name_of(op, "_input_name_key", "_input_name_value", i);
}

struct oc_str oc_om_op_output_name(const struct oc_om_op *op, uint32_t i)
{
  return name_of(op, "_output_name_key", "_output_name_value", i);
}

enum oc_dtype oc_om_desc_origin_dtype(const struct oc_om_desc *d)
{
  struct oc_str s = oc_om_attr_str(d->attrs, d->n_attrs, "origin_data_type");

  for (int i = 1; s.len && i < OC_DT_COUNT; i++)
    if (oc_str_is(s, oc_om_dtype_word((enum oc_dtype)i)))
      return (enum oc_dtype)i;
  return d->dtype;
}
