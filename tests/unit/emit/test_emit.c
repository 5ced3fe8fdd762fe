/* The written file, read back with om/: constants, names, attributes, dtypes, sizes,
 * identity, and what happens when there is no room. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/half.h"
#include "emit/emit.h"
#include "om/om.h"
#include "samples.h"

static struct oc_arena arena;
static struct oc_findings findings;
static struct oc_error err;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

static const struct oc_emit_options plain = { .soc = "Ascend310P3", .arch_type = 1 };

static struct oc_emit_plan *prepare(struct oc_graph *g, const struct oc_emit_options *opt)
{
  struct oc_emit_plan *p = NULL;
  int rc = oc_emit_prepare(g, opt, &findings, &p, &err);

  ck_assert_msg(rc == 0, "%s", err.msg);
  return p;
}

/* The file's bytes, mapped for the rest of the test. */
static struct oc_str written(const struct oc_emit_plan *p)
{
  int fd = memfd_create("om", MFD_CLOEXEC);
  int rc = oc_emit_write(p, fd, &err);
  struct stat st;

  ck_assert_msg(rc == 0, "%s", err.msg);
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_uint_eq((uint64_t)st.st_size, oc_emit_size(p));
  char *bytes = oc_arena_alloc(&arena, (size_t)st.st_size);
  ck_assert_int_eq(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
  close(fd);
  return (struct oc_str){ bytes, (size_t)st.st_size };
}

static struct oc_om_info *inspect(struct oc_str bytes)
{
  struct oc_om_info *info = NULL;
  int rc = oc_om_inspect(oc_om_source_bytes(bytes.p, bytes.len), &arena, &info, &err);

  ck_assert_msg(rc == 0, "%s", err.msg);
  return info;
}

static struct oc_om_info *compile(struct oc_graph *g, const struct oc_emit_options *opt,
                                  struct oc_str *ret)
{
  struct oc_emit_plan *p = prepare(g, opt);

  *ret = written(p);
  oc_emit_free(p);
  return inspect(*ret);
}

static const struct oc_om_op *op_of(const struct oc_om_info *info, const char *name)
{
  const struct oc_om_def *def = info->views[0].def;

  for (uint32_t g = 0; g < def->n_graphs; g++)
    for (uint32_t i = 0; i < def->graphs[g].n_ops; i++)
      if (oc_str_is(def->graphs[g].ops[i].name, name))
        return &def->graphs[g].ops[i];
  return NULL;
}

static const struct oc_om_desc *weight_of(const struct oc_om_info *info, const char *name)
{
  const struct oc_om_op *op = op_of(info, name);

  ck_assert_ptr_nonnull(op);
  const struct oc_om_attr *a = oc_om_attr_find(op->attrs, op->n_attrs, "value");
  ck_assert_ptr_nonnull(a);
  ck_assert_int_eq(a->kind, OC_OM_ATTR_TENSOR);
  return a->u.desc;
}

static const uint8_t *bytes_of(struct oc_str file, const struct oc_om_info *info,
                               const struct oc_om_desc *d)
{
  const struct oc_om_part *p = oc_om_find_part(&info->file->models[0], OC_OM_WEIGHTS);

  ck_assert_uint_le((uint64_t)(d->data_offset + d->weight_size), p->size);
  return (const uint8_t *)file.p + p->at + d->data_offset;
}

START_TEST(container)
{
  struct oc_str file;
  struct oc_om_info *info = compile(sample_conv(&arena), &plain, &file);
  const struct oc_om_model *m = &info->file->models[0];
  const uint32_t order[] = { OC_OM_INOUT, OC_OM_MODEL_DEF, OC_OM_WEIGHTS,
                             OC_OM_TASK_INFO };

  ck_assert_uint_eq(m->n_parts, 4);
  for (uint32_t i = 0; i < 4; i++)
    ck_assert_uint_eq(m->parts[i].type, order[i]);
  ck_assert_str_eq(info->file->header.name, "model");
  ck_assert_str_eq(info->file->header.userdefineinfo, OC_OM_MARK);
  ck_assert_uint_eq(info->file->header.is_unknown_model, 0);
  ck_assert(info->builtin);
  ck_assert(!info->device_ready);
  ck_assert_uint_eq(info->views[0].n_inputs, 1);
  ck_assert_uint_eq(info->views[0].inputs[0].bytes, 3 * 8 * 8 * 4);
  ck_assert_str_eq(info->views[0].outputs[0].name, "scale:0:logits");
}
END_TEST

START_TEST(casts_on_constants_are_folded)
{
  struct oc_str file;
  struct oc_om_info *info = compile(sample_conv(&arena), &plain, &file);

  ck_assert_ptr_nonnull(op_of(info, "trans_Cast_0"));
  ck_assert_ptr_null(op_of(info, "trans_Cast_1"));
  ck_assert_ptr_null(op_of(info, "trans_Cast_2"));
  ck_assert_int_eq(op_of(info, "w_Initializer_2")->output_descs[0].dtype, OC_DT_F16);
  ck_assert_int_eq(op_of(info, "conv")->input_descs[1].dtype, OC_DT_F16);
  /* read in two dtypes: the direct reader keeps the name, the Cast's name is the other's
   */
  ck_assert_int_eq(op_of(info, "s")->output_descs[0].dtype, OC_DT_F32);
  const struct oc_om_op *other = op_of(info, "trans_Cast_3");
  ck_assert(oc_str_is(other->type, "Const"));
  ck_assert_int_eq(other->output_descs[0].dtype, OC_DT_F16);
  const struct oc_om_attr *names =
      oc_om_attr_find(other->attrs, other->n_attrs, "_datadump_original_op_names");
  ck_assert_ptr_nonnull(names);
  ck_assert(oc_str_is(names->u.strings[0], "s"));
}
END_TEST

START_TEST(weights_are_converted)
{
  struct oc_graph *g = sample_conv(&arena);
  const struct oc_value *w = oc_graph_find(g, "w_Initializer_2")->value;
  struct oc_str file;
  struct oc_om_info *info = compile(g, &plain, &file);
  const struct oc_om_desc *d = weight_of(info, "w_Initializer_2");
  const uint8_t *stored = bytes_of(file, info, d);

  ck_assert_int_eq(d->weight_size, 2 * 4 * 3 * 3 * 3);
  for (size_t i = 0; i < oc_value_count(w); i++) {
    uint32_t bits;
    memcpy(&bits, w->data + 4 * i, 4);
    uint16_t want = oc_f32_to_f16(bits);
    ck_assert_uint_eq(stored[2 * i] | stored[2 * i + 1] << 8, want);
  }
}
END_TEST

START_TEST(equal_constants_share_bytes)
{
  struct oc_graph *g = sample_conv(&arena);
  struct oc_emit_plan *p = prepare(g, &plain);
  struct oc_str file = written(p);
  struct oc_om_info *info = inspect(file);

  ck_assert_int_eq(weight_of(info, "b_Initializer_0")->data_offset,
                   weight_of(info, "b2_Initializer_1")->data_offset);
  ck_assert_uint_eq(oc_emit_stats(p)->n_constants, 6);
  ck_assert_uint_eq(oc_emit_stats(p)->n_stored, 5);
  /* in the order of names, from 512, in steps of 512, and 32 more at the end */
  ck_assert_int_eq(weight_of(info, "b2_Initializer_1")->data_offset, 512);
  ck_assert_int_eq(weight_of(info, "s")->data_offset, 1024);
  ck_assert_int_eq(weight_of(info, "shape")->data_offset, 1536);
  ck_assert_int_eq(weight_of(info, "trans_Cast_3")->data_offset, 2048);
  ck_assert_int_eq(weight_of(info, "w_Initializer_2")->data_offset, 2560);
  ck_assert_uint_eq(oc_emit_stats(p)->weight_size, 3584);
  oc_emit_free(p);
}
END_TEST

static const struct oc_finding *finding(enum oc_finding_id id, const char *subject)
{
  for (size_t i = 0; i < findings.n; i++)
    if (findings.items[i].id == id && strcmp(findings.items[i].subject, subject) == 0)
      return &findings.items[i];
  return NULL;
}

START_TEST(lost_values_are_reported)
{
  struct oc_emit_plan *p = prepare(sample_conv(&arena), &plain);
  const struct oc_finding *over = finding(OC_FINDING_WEIGHT_OVERFLOW, "b_Initializer_0");
  const struct oc_finding *under = finding(OC_FINDING_WEIGHT_UNDERFLOW, "");

  ck_assert_ptr_nonnull(over);
  ck_assert_ptr_nonnull(under);
  ck_assert_str_eq(over->args[0].value, "1");
  ck_assert_str_eq(over->args[1].value, "4");
  ck_assert_str_eq(over->args[3].value, "70000");
  ck_assert_str_eq(over->args[4].value, "conv");
  ck_assert_str_eq(under->args[0].value, "2");
  ck_assert_str_eq(under->args[2].value, "2");
  ck_assert_str_eq(under->args[5].value, "'scale' (1), 'conv' (1)");
  ck_assert_uint_eq(oc_emit_stats(p)->overflowed, 2);
  ck_assert_uint_eq(oc_emit_stats(p)->underflowed, 2);
  oc_emit_free(p);
}
END_TEST

START_TEST(many_lossy_constants_are_summed_up)
{
  struct oc_graph *g = oc_graph_new(&arena, "many");
  const int64_t dims[] = { 2 };
  const float values[] = { 1e-12f, 1e12f };

  for (int i = 0; i < 40; i++) {
    struct oc_op *c = oc_graph_add_const(g, oc_arena_printf(&arena, "c%02d", i),
                                         sample_floats(&arena, values, dims, 1));
    c->outputs[0].t.got = OC_DT_F16;
  }
  oc_graph_add(g, "Node_Output", "NetOutput", 0, 0);
  oc_emit_free(prepare(g, &plain));
  /* sixteen with too large values one by one, the rest of them, and one note of tiny ones
   */
  ck_assert_uint_eq(findings.n, 18);
  const struct oc_finding *more = finding(OC_FINDING_WEIGHT_OVERFLOW_MORE, "");
  const struct oc_finding *tiny = finding(OC_FINDING_WEIGHT_UNDERFLOW, "");
  ck_assert_ptr_nonnull(more);
  ck_assert_ptr_nonnull(tiny);
  ck_assert_str_eq(more->args[0].value, "24");
  ck_assert_str_eq(tiny->args[0].value, "40");
  ck_assert_str_eq(tiny->args[5].value, "'c00' (1), 'c01' (1), 'c02' (1)");
}
END_TEST

START_TEST(outputs_are_named_after_the_models_ops)
{
  struct oc_graph *g = sample_conv(&arena);
  struct oc_op *end = oc_graph_find(g, "Node_Output"), *scale = oc_graph_find(g, "scale");
  struct oc_op *cast = oc_graph_add(g, "trans_Cast_9", "Cast", 1, 1);
  struct oc_str file;

  cast->inserted = true;
  cast->engine = OC_ENGINE_AICORE;
  cast->inputs[0].t = cast->outputs[0].t = scale->outputs[0].t;
  oc_op_link(cast, 0, scale, 0);
  oc_op_link(end, 0, cast, 0);
  struct oc_om_info *info = compile(g, &plain, &file);
  const struct oc_om_def *def = info->views[0].def;
  const struct oc_om_attr *names =
      oc_om_attr_find(def->attrs, def->n_attrs, "attr_model_out_nodes_name");
  ck_assert_str_eq(info->views[0].outputs[0].name, "scale:0:logits");
  ck_assert(oc_str_is(names->u.strings[0], "scale:0:logits"));
  ck_assert(oc_str_is(op_of(info, "Node_Output")->src_names[0], "trans_Cast_9"));
}
END_TEST

START_TEST(op_attributes)
{
  struct oc_str file;
  const struct oc_emit_options opt = { .soc = "Ascend310P3", .precision_mode = "fp16" };
  struct oc_om_info *info = compile(sample_conv(&arena), &opt, &file);
  const struct oc_om_op *conv = op_of(info, "conv"), *relu = op_of(info, "relu");
  const struct oc_om_op *scale = op_of(info, "scale"),
                        *cast = op_of(info, "trans_Cast_0");
  const struct oc_om_attr *a = oc_om_attr_find(conv->attrs, conv->n_attrs, "strides");

  ck_assert_uint_eq(a->n, 4);
  ck_assert_int_eq(oc_om_attr_int(conv->attrs, conv->n_attrs, "groups", 0), 1);
  ck_assert(oc_str_is(oc_om_op_input_name(conv, 1), "filter"));
  ck_assert(oc_str_is(oc_om_op_output_name(conv, 0), "y"));
  ck_assert_int_eq(oc_om_attr_int(relu->attrs, relu->n_attrs, "_keep_dtype", 0), 1);
  ck_assert_int_eq(oc_om_attr_int(conv->attrs, conv->n_attrs, "_keep_dtype", 0), 0);
  ck_assert_int_eq(oc_om_desc_origin_dtype(&conv->input_descs[1]), OC_DT_F32);
  a = oc_om_attr_find(scale->attrs, scale->n_attrs, "_datadump_original_op_names");
  ck_assert_uint_eq(a->n, 2);
  ck_assert(oc_str_is(a->u.strings[1], "node_b"));
  a = oc_om_attr_find(conv->attrs, conv->n_attrs, "_datadump_original_op_types");
  ck_assert(oc_str_is(a->u.strings[0], "Conv"));
  ck_assert_int_eq(oc_om_attr_int(cast->attrs, cast->n_attrs, "dst_type", -1), 1);
  ck_assert_str_eq(oc_om_op_engine(scale), "aicpu");
  /* sorted by name: the map is written in one order only */
  for (uint32_t i = 1; i < conv->n_attrs; i++)
    ck_assert_int_lt(oc_str_cmp(conv->attrs[i - 1].name, conv->attrs[i].name), 0);
}
END_TEST

START_TEST(model_attributes)
{
  struct oc_str file;
  struct oc_om_info *info = compile(sample_conv(&arena), &plain, &file);
  const struct oc_om_def *def = info->views[0].def;
  struct oc_buf lines;

  ck_assert(
      oc_str_is(oc_om_attr_str(def->attrs, def->n_attrs, "soc_version"), "Ascend310P3"));
  ck_assert(oc_str_is(oc_om_attr_str(def->attrs, def->n_attrs, "arch_type"), "1"));
  ck_assert(
      oc_str_is(oc_om_attr_str(def->attrs, def->n_attrs, "framework_type"), "Onnx"));
  ck_assert(oc_str_is(def->graphs[0].name, "model_0"));
  const struct oc_om_attr *sizes =
      oc_om_attr_find(def->attrs, def->n_attrs, "om_info_list");
  ck_assert_uint_eq(sizes->n, 5);
  ck_assert_int_eq(oc_om_attr_int(def->attrs, def->n_attrs, "memory_size", -1),
                   (int64_t)info->views[0].tasks.memory_size);
  oc_buf_init(&lines, 1 << 16);
  oc_om_display(info, &lines);
  ck_assert_ptr_nonnull(strstr(oc_buf_str(&lines), "stream_num[1], event_num[0].\n"));
  ck_assert_ptr_nonnull(
      strstr(oc_buf_str(&lines), "soc_version[Ascend310P3], framework_type[Onnx].\n"));
  oc_buf_clear(&lines);
}
END_TEST

START_TEST(every_compute_op_has_a_task_without_kernel)
{
  struct oc_str file;
  struct oc_om_info *info = compile(sample_conv(&arena), &plain, &file);
  const struct oc_om_tasks *t = &info->views[0].tasks;

  /* conv, add/1, relu, add2, scale and the two Casts that are left */
  ck_assert_uint_eq(t->n_tasks, 7);
  ck_assert_uint_eq(t->n_kernels, 7);
  ck_assert_uint_eq(t->n_absent, 7);
  ck_assert_uint_eq(t->stream_num, 1);
}
END_TEST

START_TEST(dynamic_dims)
{
  struct oc_str file;
  struct oc_om_info *info = compile(sample_dynamic(&arena), &plain, &file);
  const struct oc_om_op *mm = op_of(info, "mm"), *nz = op_of(info, "nz");

  ck_assert_uint_eq(info->file->header.is_unknown_model, 1);
  ck_assert_uint_eq(info->file->n_models, 1);
  ck_assert_int_eq(mm->output_descs[0].dims[0], -1);
  ck_assert_int_eq(mm->output_descs[0].dims[1], 16);
  ck_assert_int_eq(mm->output_descs[0].size, 0);
  ck_assert_int_eq(mm->output_offsets[0], -1);
  ck_assert_uint_eq(mm->n_inputs, 4);
  ck_assert_uint_eq(mm->inputs[2].len, 0);
  ck_assert_int_eq(nz->output_descs[0].dims[0], -2);
  ck_assert_uint_eq(info->views[0].inputs[0].bytes, 0);
}
END_TEST

START_TEST(sub_graphs)
{
  struct oc_str file;
  struct oc_om_info *info = compile(sample_if(&arena), &plain, &file);
  const struct oc_om_def *def = info->views[0].def;
  const struct oc_om_op *op = op_of(info, "if");

  ck_assert_uint_eq(def->n_graphs, 3);
  ck_assert_uint_eq(op->n_subgraphs, 2);
  ck_assert(oc_str_is(op->subgraphs[1], "if_1_else_branch"));
  ck_assert(oc_str_is(def->graphs[2].name, "if_1_else_branch"));
  /* both branches have the same constant: stored once */
  ck_assert_int_eq(weight_of(info, "if_0_then_branch/c")->data_offset,
                   weight_of(info, "if_1_else_branch/c")->data_offset);
}
END_TEST

START_TEST(equal_input_gives_equal_bytes)
{
  struct oc_str a, b;

  compile(sample_by_name(&arena, _i ? "if" : "conv"), &plain, &a);
  compile(sample_by_name(&arena, _i ? "if" : "conv"), &plain, &b);
  ck_assert_uint_eq(a.len, b.len);
  ck_assert_int_eq(memcmp(a.p, b.p, a.len), 0);
}
END_TEST

START_TEST(too_large_description_is_a_finding)
{
  const struct oc_emit_options opt = { .soc = "Ascend310P3", .max_model_def = 1000 };
  struct oc_emit_plan *p = NULL;

  ck_assert_int_eq(oc_emit_prepare(sample_conv(&arena), &opt, &findings, &p, &err),
                   OC_E_LIMIT);
  ck_assert_ptr_null(p);
  ck_assert_ptr_nonnull(finding(OC_FINDING_MODEL_DEF_TOO_LARGE, "model"));
}
END_TEST

START_TEST(no_room_is_a_clean_error)
{
  struct oc_emit_plan *p = prepare(sample_conv(&arena), &plain);
  int fd = memfd_create("om", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
  ck_assert_int_lt(oc_emit_write(p, fd, &err), 0);
  ck_assert_ptr_nonnull(strstr(err.msg, "cannot make room for the .om file"));
  struct stat st;
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_int_eq(st.st_size, 0);
  close(fd);
  oc_emit_free(p);
}
END_TEST

START_TEST(gap_between_dtypes_is_refused)
{
  struct oc_graph *g = sample_conv(&arena);
  struct oc_emit_plan *p = NULL;

  oc_graph_find(g, "relu")->inputs[0].t.got = OC_DT_F16;
  ck_assert_int_eq(oc_emit_prepare(g, &plain, &findings, &p, &err), OC_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(err.msg, "'relu' takes float16 at input 0"));
}
END_TEST

START_TEST(all_conversions)
{
  static const enum oc_dtype dtypes[] = { OC_DT_F32, OC_DT_F16, OC_DT_BF16 };
  enum oc_dtype from = dtypes[_i / 3], to = dtypes[_i % 3];
  struct oc_graph *g = oc_graph_new(&arena, "c");
  struct oc_value *v = OC_NEW(&arena, struct oc_value);
  const size_t n = 3000; /* more than the conversions' inner blocks */
  const int64_t dims[] = { (int64_t)n };
  size_t size = oc_dtype_bits(from) / 8;
  uint8_t *data = oc_arena_alloc(&arena, n * size);
  struct oc_str file;

  for (size_t i = 0; i < n; i++) {
    float f = ldexpf((float)(i * 37 % 1024) - 512.0f, (int)(i % 30) - 20);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t raw = from == OC_DT_F32   ? bits
                   : from == OC_DT_F16 ? oc_f32_to_f16(bits)
                                       : oc_f32_to_bf16(bits);
    memcpy(data + i * size, &raw, size);
  }
  *v = (struct oc_value){
    .dtype = from, .shape = oc_shape_of(&arena, dims, 1), .data = data, .len = n * size
  };
  oc_graph_add_const(g, "c", v)->outputs[0].t.got = to;
  oc_graph_add(g, "Node_Output", "NetOutput", 0, 0);
  struct oc_om_info *info = compile(g, &plain, &file);
  const uint8_t *stored = bytes_of(file, info, weight_of(info, "c"));
  size_t out = oc_dtype_bits(to) / 8;
  for (size_t i = 0; i < n; i++) {
    uint32_t raw = 0, got = 0;
    memcpy(&raw, data + i * size, size);
    memcpy(&got, stored + i * out, out);
    uint32_t f = from == OC_DT_F32   ? raw
                 : from == OC_DT_F16 ? oc_f16_to_f32((uint16_t)raw)
                                     : oc_bf16_to_f32((uint16_t)raw);
    uint32_t want = to == OC_DT_F32   ? f
                    : to == OC_DT_F16 ? oc_f32_to_f16(f)
                                      : oc_f32_to_bf16(f);
    if (from == to)
      want = raw;
    ck_assert_uint_eq(got, want);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("emit");
  TCase *t = tcase_create("file");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, container);
  tcase_add_test(t, casts_on_constants_are_folded);
  tcase_add_test(t, weights_are_converted);
  tcase_add_test(t, equal_constants_share_bytes);
  tcase_add_test(t, lost_values_are_reported);
  tcase_add_test(t, many_lossy_constants_are_summed_up);
  tcase_add_test(t, outputs_are_named_after_the_models_ops);
  tcase_add_test(t, op_attributes);
  tcase_add_test(t, model_attributes);
  tcase_add_test(t, every_compute_op_has_a_task_without_kernel);
  tcase_add_test(t, dynamic_dims);
  tcase_add_test(t, sub_graphs);
  tcase_add_loop_test(t, equal_input_gives_equal_bytes, 0, 2);
  tcase_add_test(t, too_large_description_is_a_finding);
  tcase_add_test(t, no_room_is_a_clean_error);
  tcase_add_test(t, gap_between_dtypes_is_refused);
  tcase_add_loop_test(t, all_conversions, 0, 9);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
