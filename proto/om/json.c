/* A file's content as the members of inspect's JSON. Names and numbers only: weights show
 * their place, attributes of ops that tools do not ask for stay in the file. */
#include <string.h>

#include "om_internal.h"

static void put_shape(struct oc_json_writer *w, const int64_t *dims, uint32_t rank)
{
  if (rank == 1 && dims[0] == -2) {
    oc_json_put_null(w, "shape");
    return;
  }
  oc_json_begin_array(w, "shape");
  for (uint32_t i = 0; i < rank; i++)
    oc_json_put_i64(w, NULL, dims[i]);
  oc_json_end_array(w);
}

static void put_container(const struct oc_om_file *f, struct oc_json_writer *w)
{
  const struct oc_om_header *h = &f->header;

  oc_json_begin_object(w, "container");
  oc_json_put_u64(w, "size", f->source.size);
  oc_json_put_u64(w, "version", h->version >> 28);
  oc_json_put_string(w, "name", h->name);
  oc_json_put_string(w, "mark", h->userdefineinfo);
  oc_json_put_string(w, "platform", h->platform_version);
  oc_json_put_u64(w, "modeltype", h->modeltype);
  oc_json_put_u64(w, "models", f->n_models);
  oc_json_put_bool(w, "dynamic", h->is_unknown_model == 1);
  oc_json_end_object(w);
  oc_json_begin_array(w, "partitions");
  for (uint32_t m = 0; m < f->n_models; m++)
    for (uint32_t i = 0; i < f->models[m].n_parts; i++) {
      const struct oc_om_part *p = &f->models[m].parts[i];
      oc_json_begin_object(w, NULL);
      oc_json_put_u64(w, "model", m);
      oc_json_put_u64(w, "type", p->type);
      oc_json_put_string(w, "name", oc_om_part_name(p->type));
      oc_json_put_u64(w, "at", p->at);
      oc_json_put_u64(w, "size", p->size);
      oc_json_end_object(w);
    }
  oc_json_end_array(w);
}

static void put_attribute(struct oc_json_writer *w, const char *key,
                          const struct oc_om_attr *a)
{
  switch (a->kind) {
  case OC_OM_ATTR_STRING: oc_json_put_str(w, key, a->u.s); break;
  case OC_OM_ATTR_INT: oc_json_put_i64(w, key, a->u.i); break;
  case OC_OM_ATTR_FLOAT: oc_json_put_f64(w, key, (double)a->u.f); break;
  case OC_OM_ATTR_BOOL: oc_json_put_bool(w, key, a->u.i != 0); break;
  case OC_OM_ATTR_STRINGS:
    oc_json_begin_array(w, key);
    for (size_t i = 0; i < a->n; i++)
      oc_json_put_str(w, NULL, a->u.strings[i]);
    oc_json_end_array(w);
    break;
  case OC_OM_ATTR_INTS:
    oc_json_begin_array(w, key);
    for (size_t i = 0; i < a->n; i++)
      oc_json_put_i64(w, NULL, a->u.ints[i]);
    oc_json_end_array(w);
    break;
  default: /* blobs, descriptors, the dictionary */ break;
  }
}

static bool is_dictionary(struct oc_str name)
{
  return oc_str_is(name, "attr_name_enum") || oc_str_is(name, "attr_value_enum") ||
         oc_str_is(name, "attrs_use_string_value");
}

static void put_attributes(const struct oc_om_def *def, struct oc_json_writer *w)
{
  char key[256];

  oc_json_begin_object(w, "attributes");
  for (uint32_t i = 0; i < def->n_attrs; i++) {
    const struct oc_om_attr *a = &def->attrs[i];
    if (is_dictionary(a->name) || !a->name.len || a->name.len >= sizeof key ||
        !oc_utf8_valid(a->name))
      continue;
    memcpy(key, a->name.p, a->name.len);
    key[a->name.len] = '\0';
    put_attribute(w, key, a);
  }
  oc_json_end_object(w);
}

static void put_io(struct oc_json_writer *w, const char *key, const struct oc_om_io *t,
                   size_t n)
{
  oc_json_begin_array(w, key);
  for (size_t i = 0; i < n; i++) {
    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "name", t[i].name);
    oc_json_put_string(w, "dtype", oc_dtype_name(t[i].dtype));
    put_shape(w, t[i].dims, t[i].rank);
    oc_json_put_u64(w, "bytes", t[i].bytes);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

static void put_tensors(struct oc_json_writer *w, const char *key,
                        const struct oc_om_op *op, const struct oc_om_desc *d, uint32_t n,
                        bool outputs)
{
  oc_json_begin_array(w, key);
  for (uint32_t i = 0; i < n; i++) {
    oc_json_begin_object(w, NULL);
    oc_json_put_str(w, "name",
                    outputs ? oc_om_op_output_name(op, i) : oc_om_op_input_name(op, i));
    oc_json_put_string(w, "orig", oc_dtype_name(oc_om_desc_origin_dtype(&d[i])));
    oc_json_put_string(w, "got", oc_dtype_name(d[i].dtype));
    put_shape(w, d[i].dims, d[i].rank);
    oc_json_put_str(w, "format", d[i].layout);
    if (!outputs)
      oc_json_put_str(w, "from", i < op->n_inputs ? op->inputs[i] : oc_str_of(""));
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

const char *oc_om_op_engine(const struct oc_om_op *op)
{
  struct oc_str s = oc_om_attr_str(op->attrs, op->n_attrs, "_ge_attr_op_kernel_lib_name");

  if (oc_str_is(s, "AIcoreEngine") || oc_str_is(s, "VectorEngine"))
    return "aicore";
  if (oc_str_starts(s, "aicpu"))
    return "aicpu";
  return s.len ? "graph" : "";
}

static void put_weight(struct oc_json_writer *w, const struct oc_om_op *op)
{
  const struct oc_om_attr *v = oc_om_attr_find(op->attrs, op->n_attrs, "value");

  if (!v || v->kind != OC_OM_ATTR_TENSOR)
    return;
  oc_json_begin_object(w, "weight");
  oc_json_put_i64(w, "offset", v->u.desc->data_offset);
  oc_json_put_i64(w, "bytes",
                  v->data.len ? (int64_t)v->data.len : v->u.desc->weight_size);
  oc_json_put_bool(w, "inline", v->data.len != 0);
  oc_json_end_object(w);
}

static void put_op(struct oc_json_writer *w, struct oc_str graph,
                   const struct oc_om_op *op)
{
  const struct oc_om_attr *types =
      oc_om_attr_find(op->attrs, op->n_attrs, "_datadump_original_op_types");
  const struct oc_om_attr *names =
      oc_om_attr_find(op->attrs, op->n_attrs, "_datadump_original_op_names");

  oc_json_begin_object(w, NULL);
  oc_json_put_str(w, "graph", graph);
  oc_json_put_str(w, "name", op->name);
  oc_json_put_str(w, "type", op->type);
  oc_json_put_str(w, "source_type",
                  types && types->kind == OC_OM_ATTR_STRINGS && types->n
                      ? types->u.strings[0]
                      : oc_str_of(""));
  oc_json_put_i64(w, "id", op->id);
  oc_json_put_string(w, "engine", oc_om_op_engine(op));
  oc_json_put_bool(w, "kept",
                   oc_om_attr_int(op->attrs, op->n_attrs, "_keep_dtype", 0) == 1);
  oc_json_begin_array(w, "origin_names");
  if (names && names->kind == OC_OM_ATTR_STRINGS)
    for (size_t i = 0; i < names->n; i++)
      oc_json_put_str(w, NULL, names->u.strings[i]);
  oc_json_end_array(w);
  put_tensors(w, "inputs", op, op->input_descs, op->n_input_descs, false);
  put_tensors(w, "outputs", op, op->output_descs, op->n_output_descs, true);
  put_weight(w, op);
  oc_json_end_object(w);
}

/* A model for each profile stands behind the dynamic one. */
static void put_models(struct oc_json_writer *w, const struct oc_om_info *info)
{
  oc_json_begin_array(w, "models");
  for (uint32_t v = 0; v < info->n_views; v++) {
    const struct oc_om_view *view = &info->views[v];
    const struct oc_om_def *def = view->def;
    const struct oc_om_attr *a = oc_om_attr_find(def->attrs, def->n_attrs, "_profile");
    oc_json_begin_object(w, NULL);
    oc_json_put_str(w, "name", def->name);
    oc_json_begin_array(w, "profile");
    for (size_t i = 0; a && a->kind == OC_OM_ATTR_INTS && i < a->n; i++)
      oc_json_put_i64(w, NULL, a->u.ints[i]);
    oc_json_end_array(w);
    oc_json_put_i64(w, "memory_size",
                    oc_om_attr_int(def->attrs, def->n_attrs, "memory_size", -1));
    oc_json_put_i64(w, "weight_size",
                    oc_om_attr_int(def->attrs, def->n_attrs, "weight_size", -1));
    put_io(w, "inputs", view->inputs, view->n_inputs);
    put_io(w, "outputs", view->outputs, view->n_outputs);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

void oc_om_write_json(const struct oc_om_info *info, struct oc_json_writer *w)
{
  const struct oc_om_view *root = &info->views[0];

  oc_json_put_bool(w, "builtin", info->builtin);
  oc_json_put_bool(w, "device_ready", info->device_ready);
  put_container(info->file, w);
  oc_json_put_str(w, "model", root->def->name);
  put_attributes(root->def, w);
  put_io(w, "inputs", root->inputs, root->n_inputs);
  put_io(w, "outputs", root->outputs, root->n_outputs);
  oc_json_begin_object(w, "tasks");
  oc_json_put_u64(w, "total", root->tasks.n_tasks);
  oc_json_put_u64(w, "kernels", root->tasks.n_kernels);
  oc_json_put_u64(w, "absent", root->tasks.n_absent);
  oc_json_end_object(w);
  put_models(w, info);
  oc_json_begin_array(w, "ops");
  for (uint32_t v = 0; v < info->n_views; v++)
    for (uint32_t g = 0; g < info->views[v].def->n_graphs; g++) {
      const struct oc_om_graph *graph = &info->views[v].def->graphs[g];
      for (uint32_t i = 0; i < graph->n_ops; i++)
        put_op(w, graph->name, &graph->ops[i]);
    }
  oc_json_end_array(w);
}
