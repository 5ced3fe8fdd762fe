/* Passes on small graphs: what goes, what stays, who takes over names and keep marks. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "optable/optable.h"
#include "passes/passes.h"
#include "tables.h"

static struct oc_arena arena;
static struct oc_findings findings;
static struct oc_graph *g;
static struct oc_pass_log notes;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
  g = oc_graph_new(&arena, "test");
  memset(&notes, 0, sizeof(notes));
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

static struct oc_op *add(const char *name, const char *type, uint32_t n_out, size_t n,
                         struct oc_op *const *from)
{
  struct oc_op *op = oc_graph_add(g, name, type, (uint32_t)n, n_out);

  for (uint32_t i = 0; i < n; i++)
    if (from[i])
      oc_op_link(op, i, from[i], 0);
  return op;
}
#define ADD(name, type, n_out, ...)                                                      \
  add(name, type, n_out, sizeof((struct oc_op *[]){ __VA_ARGS__ }) / sizeof(void *),     \
      (struct oc_op *[]){ __VA_ARGS__ })

static void set(struct oc_op *op, enum oc_dtype d, const int64_t *dims, size_t rank)
{
  op->outputs[0].t.dtype = d;
  op->outputs[0].t.shape = oc_shape_of(&arena, dims, rank);
}

/* What inference does before passes of the second stage run. */
static void copy_to_readers(void)
{
  for (uint32_t i = 0; i < g->n_ops; i++)
    for (uint32_t k = 0; k < g->ops[i]->n_inputs; k++) {
      struct oc_input *in = &g->ops[i]->inputs[k];

      if (!in->from)
        continue;
      in->t.dtype = in->from->outputs[in->from_out].t.dtype;
      in->t.shape = in->from->outputs[in->from_out].t.shape;
    }
}

static struct oc_op *data(const char *name)
{
  struct oc_op *op = oc_graph_add(g, name, "Data", 1, 1);

  set(op, OC_DT_F32, (int64_t[]){ 1, 2, 4, 4 }, 4);
  return op;
}

static struct oc_op *floats(const char *name, const int64_t *dims, size_t rank,
                            const float *v, size_t n)
{
  struct oc_value *value = OC_NEW(&arena, struct oc_value);

  *value = (struct oc_value){ .dtype = OC_DT_F32,
                              .shape = oc_shape_of(&arena, dims, rank),
                              .data = oc_arena_memdup(&arena, v, n * sizeof(*v)),
                              .len = n * sizeof(*v) };
  return oc_graph_add_const(g, name, value);
}

static int run_with(enum oc_stage stage, uint32_t on, const struct oc_optable *t,
                    const char *soc)
{
  struct oc_pass_options o = { .on = on };
  struct oc_error err = { 0 };
  int rc = oc_passes_run(g, stage, t, soc, &o, &notes, &findings, &err);

  ck_assert_msg(rc >= 0, "%s", err.msg);
  return rc;
}

static int run(enum oc_stage stage, uint32_t on)
{
  return run_with(stage, on, NULL, NULL);
}

static bool has_origin(const struct oc_op *op, const char *name)
{
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    if (strcmp(op->origin_names[i], name) == 0)
      return true;
  return false;
}

START_TEST(identity_chain_goes)
{
  struct oc_op *x = data("x");
  struct oc_op *a = ADD("a", "Relu", 1, x);
  struct oc_op *i = ADD("i", "Identity", 1, a);
  struct oc_op *d = ADD("d", "Dropout", 1, i);
  struct oc_op *b = ADD("b", "Relu", 1, d);

  i->keep = true;
  (void)ADD("Node_Output", "NetOutput", 0, b);
  ck_assert_int_eq(run(OC_STAGE_PARSED, OC_PASSES_DEFAULT), 2);
  ck_assert_ptr_eq(b->inputs[0].from, a);
  ck_assert_uint_eq(g->n_ops, 4);
  ck_assert(has_origin(a, "a") && has_origin(a, "i") && has_origin(a, "d"));
  ck_assert(!a->keep);
  ck_assert_uint_eq(notes.n, 2);
  ck_assert_int_eq(notes.items[0].pass, OC_PASS_IDENTITY);
  ck_assert_str_eq(notes.items[0].op, "i");
}
END_TEST

START_TEST(identity_protects_an_output)
{
  struct oc_op *x = data("x");
  struct oc_op *i = ADD("i", "Identity", 1, x);
  struct oc_op *k = ADD("k", "Identity", 1, x);
  struct oc_op *r = ADD("r", "Relu", 1, k);

  (void)ADD("Node_Output", "NetOutput", 0, i, r);
  ck_assert_int_eq(run(OC_STAGE_PARSED, OC_PASSES_DEFAULT), 1);
  ck_assert_ptr_nonnull(oc_graph_find(g, "i"));
  ck_assert_ptr_eq(r->inputs[0].from, x);
  /* An input takes over no names: the reader does. */
  ck_assert(has_origin(r, "k"));
  ck_assert_uint_eq(x->n_origin_names, 0);
}
END_TEST

START_TEST(dropout_with_a_used_mask_stays)
{
  struct oc_op *a = ADD("a", "Relu", 1, data("x"));
  struct oc_op *d = ADD("d", "Dropout", 2, a);
  struct oc_op *end = oc_graph_add(g, "Node_Output", "NetOutput", 2, 0);

  oc_op_link(end, 0, d, 0);
  oc_op_link(end, 1, d, 1);
  ck_assert_int_eq(run(OC_STAGE_PARSED, OC_PASSES_DEFAULT), 0);
}
END_TEST

START_TEST(a_switched_off_pass_does_nothing)
{
  struct oc_op *a = ADD("a", "Relu", 1, data("x"));

  (void)ADD("Node_Output", "NetOutput", 0,
            ADD("b", "Relu", 1, ADD("i", "Identity", 1, a)));
  ck_assert_int_eq(
      run(OC_STAGE_PARSED, OC_PASSES_DEFAULT & ~OC_PASS_BIT(OC_PASS_IDENTITY)), 0);
  ck_assert_uint_eq(g->n_ops, 5);
}
END_TEST

static struct oc_op *cast(const char *name, struct oc_op *from, enum oc_dtype to)
{
  struct oc_op *op = ADD(name, "Cast", 1, from);

  set(op, to, (int64_t[]){ 4 }, 1);
  return op;
}

START_TEST(useless_casts_go)
{
  struct oc_op *x = data("x");
  struct oc_op *a = ADD("a", "Relu", 1, x);

  set(a, OC_DT_F32, (int64_t[]){ 4 }, 1);

  struct oc_op *same = cast("same", a, OC_DT_F32);
  struct oc_op *half = cast("half", same, OC_DT_F16);
  struct oc_op *wide = cast("wide", half, OC_DT_F32);
  struct oc_op *back = cast("back", wide, OC_DT_F16);
  struct oc_op *b = ADD("b", "Relu", 1, back);

  (void)ADD("Node_Output", "NetOutput", 0, b);
  copy_to_readers();
  run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_CAST));
  /* f32 -> f32 goes; f16 -> f32 -> f16 goes; f32 -> f16 rounds and stays. */
  ck_assert_ptr_eq(b->inputs[0].from, half);
  ck_assert_ptr_eq(half->inputs[0].from, a);
  ck_assert_ptr_null(oc_graph_find(g, "wide"));
  ck_assert_ptr_null(oc_graph_find(g, "back"));
  ck_assert(has_origin(half, "wide") && has_origin(half, "back"));
  ck_assert(has_origin(a, "same"));
}
END_TEST

START_TEST(rounding_pairs_stay)
{
  struct oc_op *a = ADD("a", "Relu", 1, data("x"));

  set(a, OC_DT_F32, (int64_t[]){ 4 }, 1);

  struct oc_op *down = cast("down", a, OC_DT_F16);
  struct oc_op *up = cast("up", down, OC_DT_F32);

  (void)ADD("Node_Output", "NetOutput", 0, ADD("b", "Relu", 1, up));
  copy_to_readers();
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_CAST)), 0);
}
END_TEST

static void know(struct oc_op *op, const int64_t *v, size_t n)
{
  struct oc_op *c = oc_graph_add_ints(g, "scratch", OC_DT_I64, v, n, false);

  op->outputs[0].t = c->outputs[0].t;
  g->n_ops--;
}

START_TEST(shape_chain_becomes_a_constant)
{
  struct oc_op *x = data("x");
  struct oc_op *shape = ADD("shape", "Shape", 1, x);
  struct oc_op *zero =
      oc_graph_add_ints(g, "zero", OC_DT_I64, (int64_t[]){ 0 }, 1, false);
  struct oc_op *pick = ADD("pick", "GatherV2", 1, shape, zero);
  struct oc_op *y = ADD("y", "Reshape", 1, x, pick);

  know(shape, (int64_t[]){ 1, 2, 4, 4 }, 4);
  know(pick, (int64_t[]){ 32 }, 1);
  (void)ADD("Node_Output", "NetOutput", 0, y);
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_FOLD)), 1);
  ck_assert(oc_op_is(pick, "Const"));
  ck_assert_str_eq(pick->name, "pick");
  ck_assert_uint_eq(pick->n_inputs, 0);
  ck_assert_ptr_nonnull(pick->value);
  ck_assert(has_origin(pick, "pick") && has_origin(pick, "shape") &&
            has_origin(pick, "zero"));
  ck_assert_uint_eq(g->n_ops, 4);
}
END_TEST

START_TEST(shared_parts_of_a_chain_stay)
{
  struct oc_op *x = data("x");
  struct oc_op *shape = ADD("shape", "Shape", 1, x);
  struct oc_op *pick = ADD("pick", "GatherV2", 1, shape);
  struct oc_op *other = ADD("other", "GatherV2", 1, shape);

  know(pick, (int64_t[]){ 32 }, 1);
  (void)ADD("Node_Output", "NetOutput", 0, pick, other);
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_FOLD)), 1);
  ck_assert_ptr_nonnull(oc_graph_find(g, "shape"));
}
END_TEST

START_TEST(floats_are_folded_on_request_only)
{
  struct oc_op *c = floats("c", (int64_t[]){ 1 }, 1, (float[]){ 2 }, 1);
  struct oc_op *y = ADD("y", "Neg", 1, c);

  y->outputs[0].t = c->outputs[0].t;
  (void)ADD("Node_Output", "NetOutput", 0, ADD("z", "Add", 1, data("x"), y));
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASSES_DEFAULT), 0);
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_FOLD_REAL)), 1);
  ck_assert(oc_op_is(y, "Const"));
}
END_TEST

START_TEST(dead_code_goes_inputs_stay)
{
  struct oc_op *x = data("x");
  struct oc_op *a = ADD("a", "Relu", 1, x);
  struct oc_op *dead = ADD("dead", "Relu", 1, a);

  (void)ADD("deader", "Relu", 1, dead);
  (void)data("unused");
  (void)ADD("Node_Output", "NetOutput", 0, a);
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_DEAD)), 2);
  ck_assert_ptr_null(oc_graph_find(g, "dead"));
  ck_assert_ptr_null(oc_graph_find(g, "deader"));
  ck_assert_ptr_nonnull(oc_graph_find(g, "unused"));
}
END_TEST

/* 1x1 convolution of two channels, with statistics that give round factors. */
static struct oc_op *conv_bn(bool biased)
{
  struct oc_op *x = data("x");
  struct oc_op *w = floats("w", (int64_t[]){ 2, 2, 1, 1 }, 4, (float[]){ 1, 2, 3, 4 }, 4);
  struct oc_op *b = floats("b", (int64_t[]){ 2 }, 1, (float[]){ 10, 20 }, 2);
  struct oc_op *conv =
      biased ? ADD("conv", "Conv2D", 1, x, w, b) : ADD("conv", "Conv2D", 1, x, w);
  struct oc_op *bn = ADD("bn", "BatchNorm", 1, conv,
                         floats("s", (int64_t[]){ 2 }, 1, (float[]){ 2, 3 }, 2),
                         floats("o", (int64_t[]){ 2 }, 1, (float[]){ 0.5f, 0.25f }, 2),
                         floats("m", (int64_t[]){ 2 }, 1, (float[]){ 1, 2 }, 2),
                         floats("v", (int64_t[]){ 2 }, 1, (float[]){ 4, 9 }, 2));

  oc_attr_set_string(g, conv, "data_format", "NCHW");
  oc_attr_set_float(g, bn, "epsilon", 0);
  oc_attr_set_bool(g, bn, "is_training", false);
  bn->keep = true;
  bn->keep_entry = 3;
  (void)ADD("Node_Output", "NetOutput", 0, ADD("y", "Relu", 1, bn));
  return conv;
}

static float value_at(const struct oc_op *op, uint32_t input, size_t i)
{
  const struct oc_value *v = oc_op_input_value(op, input);
  float f = 0;

  ck_assert_ptr_nonnull(v);
  ck_assert_uint_lt(i * sizeof(f), v->len);
  memcpy(&f, v->data + i * sizeof(f), sizeof(f));
  return f;
}

START_TEST(batch_norm_goes_into_the_convolution)
{
  bool biased = _i == 1;
  struct oc_op *conv = conv_bn(biased);

  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_CONV_BN)), 1);
  /* factors 2/2 and 3/3 */
  ck_assert(value_at(conv, 1, 0) == 1.0f && value_at(conv, 1, 3) == 4.0f);
  ck_assert(value_at(conv, 2, 0) == (biased ? 9.5f : -0.5f));
  ck_assert(value_at(conv, 2, 1) == (biased ? 18.25f : -1.75f));
  ck_assert_ptr_eq(oc_graph_find(g, "y")->inputs[0].from, conv);
  ck_assert_ptr_null(oc_graph_find(g, "bn"));
  ck_assert_str_eq(conv->name, "conv");
  ck_assert(has_origin(conv, "conv") && has_origin(conv, "bn"));
  ck_assert(conv->keep);
  ck_assert_uint_eq(conv->keep_entry, 3);
}
END_TEST

START_TEST(batch_norm_stays_when_others_read_the_convolution)
{
  struct oc_op *conv = conv_bn(true);

  (void)ADD("z", "Relu", 1, conv);
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASS_BIT(OC_PASS_CONV_BN)), 0);
  ck_assert_ptr_nonnull(oc_graph_find(g, "bn"));
}
END_TEST

START_TEST(batch_norm_is_not_folded_by_default)
{
  (void)conv_bn(true);
  ck_assert_int_eq(run(OC_STAGE_INFERRED, OC_PASSES_DEFAULT), 0);
  ck_assert_ptr_nonnull(oc_graph_find(g, "bn"));
}
END_TEST

START_TEST(global_pool_becomes_a_reduction)
{
  struct oc_optable *t = load_tables(&arena);
  struct oc_op *x = data("x");
  struct oc_op *y = ADD("y", "GlobalAveragePool", 1, x);
  bool attributes = _i == 1;

  y->keep = true;
  (void)ADD("Node_Output", "NetOutput", 0, y);
  copy_to_readers();
  run_with(OC_STAGE_INFERRED, OC_PASSES_DEFAULT, t,
           attributes ? "Ascend310" : "Ascend910B1");
  ck_assert_str_eq(y->name, "y");
  ck_assert(y->keep);
  ck_assert(oc_attr_bool(y, "keep_dims", false));
  if (attributes) {
    size_t n = 0;
    const int64_t *axes = oc_attr_ints(y, "axes", &n);

    ck_assert_str_eq(y->type, "ReduceMeanD");
    ck_assert_uint_eq(y->n_inputs, 1);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(axes[0], 2);
    ck_assert_int_eq(axes[1], 3);
  } else {
    ck_assert_str_eq(y->type, "ReduceMean");
    ck_assert_uint_eq(y->n_inputs, 2);
    ck_assert_str_eq(y->inputs[1].t.name, "axes");
    ck_assert_uint_eq(oc_value_count(oc_op_input_value(y, 1)), 2);
    ck_assert_uint_lt(y->inputs[1].from->id, y->id);
  }
  oc_optable_free(t);
}
END_TEST

START_TEST(constant_slices_become_attributes)
{
  struct oc_optable *t = load_tables(&arena);
  struct oc_op *x = data("x");
  struct oc_op *begin =
      oc_graph_add_ints(g, "begin", OC_DT_I64, (int64_t[]){ 1 }, 1, false);
  struct oc_op *end = oc_graph_add_ints(g, "end", OC_DT_I64, (int64_t[]){ 3 }, 1, false);
  struct oc_op *axes =
      oc_graph_add_ints(g, "axes", OC_DT_I64, (int64_t[]){ -1 }, 1, false);
  struct oc_op *y = ADD("y", "StridedSliceV2", 1, x, begin, end, axes);
  size_t n = 0;

  (void)ADD("Node_Output", "NetOutput", 0, y);
  copy_to_readers();
  run_with(OC_STAGE_INFERRED, OC_PASSES_DEFAULT, t, "Ascend910B1");
  ck_assert_str_eq(y->type, "StridedSliceD");
  ck_assert_uint_eq(y->n_inputs, 1);

  const int64_t *b = oc_attr_ints(y, "begin", &n);

  ck_assert_uint_eq(n, 4);
  ck_assert_int_eq(b[0], 0);
  ck_assert_int_eq(b[3], 1);
  ck_assert_int_eq(oc_attr_ints(y, "end", &n)[2], 4);
  ck_assert_int_eq(oc_attr_ints(y, "end", &n)[3], 3);
  ck_assert(has_origin(y, "begin") && has_origin(y, "axes"));
  oc_optable_free(t);
}
END_TEST

START_TEST(a_constant_size_becomes_an_attribute)
{
  struct oc_optable *t = load_tables(&arena);
  bool constant = _i == 0;
  struct oc_op *x = data("x"), *filter = data("filter");
  struct oc_op *size = constant ? oc_graph_add_ints(g, "size", OC_DT_I64,
                                                    (int64_t[]){ 1, 2, 8, 8 }, 4, false)
                                : oc_graph_add(g, "size", "Data", 1, 1);
  struct oc_op *y = ADD("y", "Conv2DTranspose", 1, size, x, filter);
  size_t n = 0;

  size->outputs[0].t.dtype = OC_DT_I64;
  (void)ADD("Node_Output", "NetOutput", 0, y);
  copy_to_readers();
  run_with(OC_STAGE_INFERRED, OC_PASSES_DEFAULT, t, "Ascend310B1");
  if (constant) {
    ck_assert_str_eq(y->type, "Conv2DTransposeD");
    ck_assert_uint_eq(y->n_inputs, 2);
    ck_assert_ptr_eq(y->inputs[0].from, x);
    ck_assert_ptr_eq(y->inputs[1].from, filter);
    ck_assert_str_eq(y->inputs[0].t.name, "x");
    ck_assert_str_eq(y->inputs[1].t.name, "filter");
    ck_assert_int_eq(oc_attr_ints(y, "input_size", &n)[3], 8);
    ck_assert_uint_eq(n, 4);
    ck_assert(has_origin(y, "size"));
    ck_assert_ptr_null(oc_graph_find(g, "size"));
  } else {
    ck_assert_str_eq(y->type, "Conv2DTranspose");
    ck_assert_uint_eq(y->n_inputs, 3);
    ck_assert_ptr_eq(y->inputs[0].from, size);
  }
  oc_optable_free(t);
}
END_TEST

START_TEST(unknown_soc)
{
  struct oc_optable *t = load_tables(&arena);
  struct oc_pass_options o = { .on = OC_PASSES_DEFAULT };
  struct oc_error err = { 0 };

  ck_assert_int_eq(
      oc_passes_run(g, OC_STAGE_INFERRED, t, "Ascend0", &o, NULL, &findings, &err),
      OC_E_ARG);
  oc_optable_free(t);
}
END_TEST

static void count_dump(void *ctx, enum oc_pass pass, const struct oc_graph *graph)
{
  (void)graph;
  if (pass == OC_PASS_IDENTITY)
    ++*(int *)ctx;
}

START_TEST(dump_hook_is_called_per_changing_pass)
{
  int calls = 0;
  struct oc_pass_options o = { OC_PASSES_DEFAULT, count_dump, &calls };
  struct oc_op *a = ADD("a", "Relu", 1, data("x"));

  (void)ADD("Node_Output", "NetOutput", 0,
            ADD("b", "Relu", 1, ADD("i", "Identity", 1, a)));
  ck_assert_int_eq(
      oc_passes_run(g, OC_STAGE_PARSED, NULL, NULL, &o, NULL, &findings, NULL), 1);
  ck_assert_int_eq(
      oc_passes_run(g, OC_STAGE_PARSED, NULL, NULL, &o, NULL, &findings, NULL), 0);
  ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(names_of_passes)
{
  enum oc_pass p = OC_PASS_COUNT;

  for (int i = 0; i < OC_PASS_COUNT; i++) {
    ck_assert(oc_pass_by_name(oc_pass_info((enum oc_pass)i)->name, &p));
    ck_assert_int_eq(p, i);
  }
  ck_assert(!oc_pass_by_name("fusion", &p));
}
END_TEST

int main(void)
{
  Suite *s = suite_create("passes");
  TCase *tc = tcase_create("passes");

  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, identity_chain_goes);
  tcase_add_test(tc, identity_protects_an_output);
  tcase_add_test(tc, dropout_with_a_used_mask_stays);
  tcase_add_test(tc, a_switched_off_pass_does_nothing);
  tcase_add_test(tc, useless_casts_go);
  tcase_add_test(tc, rounding_pairs_stay);
  tcase_add_test(tc, shape_chain_becomes_a_constant);
  tcase_add_test(tc, shared_parts_of_a_chain_stay);
  tcase_add_test(tc, floats_are_folded_on_request_only);
  tcase_add_test(tc, dead_code_goes_inputs_stay);
  tcase_add_loop_test(tc, batch_norm_goes_into_the_convolution, 0, 2);
  tcase_add_test(tc, batch_norm_stays_when_others_read_the_convolution);
  tcase_add_test(tc, batch_norm_is_not_folded_by_default);
  tcase_add_loop_test(tc, global_pool_becomes_a_reduction, 0, 2);
  tcase_add_test(tc, constant_slices_become_attributes);
  tcase_add_loop_test(tc, a_constant_size_becomes_an_attribute, 0, 2);
  tcase_add_test(tc, unknown_soc);
  tcase_add_test(tc, dump_hook_is_called_per_changing_pass);
  tcase_add_test(tc, names_of_passes);
  suite_add_tcase(s, tc);

  SRunner *r = srunner_create(s);

  srunner_run_all(r, CK_NORMAL);

  int failed = srunner_ntests_failed(r);

  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
