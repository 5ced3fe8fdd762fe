/* Profiles: how they are written, and every rule of the vendor's that they can break. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "infer/infer.h"
#include "infer/profiles.h"

static struct oc_arena arena;
static struct oc_findings findings;
static struct oc_graph *g;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
  g = oc_graph_new(&arena, "test");
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

/* Inputs "a" and "b" as --input_shape declares them; an item "b" alone has no shape. */
static void inputs(const char *input_shape)
{
  const char *const names[] = { "a", "b" };
  struct oc_infer_options options = { .input_shape = input_shape };
  struct oc_error err = { 0 };

  for (size_t i = 0; i < 2; i++) {
    struct oc_op *op = oc_graph_add(g, names[i], "Data", 1, 1);
    op->outputs[0].t.dtype = OC_DT_F32;
    op->outputs[0].t.shape = oc_shape_of(&arena, (const int64_t[]){ 1 }, 1);
    if (!strstr(input_shape, names[i]))
      continue;
    op->outputs[0].t.shape = oc_shape_unknown();
  }
  ck_assert_int_eq(oc_infer(g, &options, NULL, NULL, &err), 0);
}

static struct oc_profiles read_profiles(struct oc_profile_options o, const char *shape)
{
  struct oc_profiles p = { 0 };

  inputs(shape);
  o.input_shape = shape;
  o.most = 4;
  ck_assert_int_eq(oc_profiles_read(g, &o, &findings, &p), 0);
  return p;
}

START_TEST(batch_sizes)
{
  const struct oc_profile_options o = { .batch = "1, 2,8" };
  struct oc_profiles p = read_profiles(o, "a:-1,3");

  ck_assert_uint_eq(findings.n, 0);
  ck_assert_int_eq(p.kind, OC_PROFILE_BATCH);
  ck_assert(p.n == 3 && p.width == 1 && p.values[0] == 1 && p.values[2] == 8);
  ck_assert(p.n_names == 1 && strcmp(p.names[0], "a") == 0);
}
END_TEST

START_TEST(image_sizes)
{
  const struct oc_profile_options o = { .image = "416,416;832,640",
                                        .input_format = _i ? "NHWC" : "NCHW" };
  struct oc_profiles p = read_profiles(o, _i ? "a:1,-1,-1,3" : "a:1,3,-1,-1");

  ck_assert_uint_eq(findings.n, 0);
  ck_assert_int_eq(p.kind, OC_PROFILE_IMAGE);
  ck_assert(p.n == 2 && p.width == 2 && p.values[2] == 832 && p.values[3] == 640);
}
END_TEST

/* Inputs in the order of --input_shape, not of the graph. */
START_TEST(dims_in_the_order_of_the_shapes)
{
  const struct oc_profile_options o = { .dims = "1,2,3;4,5,6;" };
  struct oc_profiles p = read_profiles(o, "b:-1,4;a:-1,-1");

  ck_assert_uint_eq(findings.n, 0);
  ck_assert(p.n == 2 && p.width == 3 && p.values[5] == 6);
  ck_assert(p.n_names == 2);
  ck_assert_str_eq(p.names[0], "b");
  ck_assert_str_eq(p.names[1], "a");
}
END_TEST

START_TEST(no_profiles)
{
  const struct oc_profile_options o = { .batch = "" };
  struct oc_profiles p = read_profiles(o, "a:-1,3");

  ck_assert_int_eq(p.kind, OC_PROFILE_NONE);
  ck_assert_uint_eq(findings.n, 0);
}
END_TEST

static const struct {
  const char *batch, *image, *dims, *shape, *finding, *code;
} broken[] = {
  { "1,x", NULL, NULL, "a:-1,3", "profile-syntax", "E10003" },
  { "1,,2", NULL, NULL, "a:-1,3", "profile-syntax", "E10003" },
  { NULL, "1,2,3;4,5,6", NULL, "a:1,3,-1,-1", "profile-image-syntax", "E10020" },
  { "2", NULL, NULL, "a:-1,3", "profile-few", "E10035" },
  { "1,2,3,4,5", NULL, NULL, "a:-1,3", "profile-many", "E10036" },
  { NULL, NULL, "1,2;3", "a:-1,-1", "profile-length", "E10037" },
  { "0,1", NULL, NULL, "a:-1,3", "profile-positive", "E10038" },
  { NULL, "1,2;1,-2", NULL, "a:1,3,-1,-1", "profile-positive", "E10038" },
  { "1,2,1", NULL, NULL, "a:-1,3", "profile-twice", "E10039" },
  { NULL, NULL, "1,2;1,2", "a:-1,-1", "profile-twice", "E10039" },
  { "1,2", NULL, NULL, "a:-1,-1", "profile-batch-dim", "E10018" },
  { NULL, "1,2;3,4", NULL, "a:1,-1,2,-1", "profile-image-dim", "E10019" },
  { NULL, "1,2;3,4", NULL, "a:1,3,2,-1", "profile-image-dim", "E10019" },
  { "1,2", NULL, NULL, "a:1~4,3", "profile-range", "E10040" },
  { "1,2", NULL, NULL, "a:1,3", "profile-no-open-batch", "E10031" },
  { NULL, "1,2;3,4", NULL, "a:1,3,2,2", "profile-no-open-dim", "E10040" },
  { NULL, NULL, "1,2;3,4", "a:-1,-1;b:-1", "profile-dims-more", "E10046" },
  { NULL, NULL, "1,2;3,4", "a:-1,7", "profile-dims-count", "E10045" },
};

START_TEST(broken_rule)
{
  const struct oc_profile_options o = { .batch = broken[_i].batch,
                                        .image = broken[_i].image,
                                        .dims = broken[_i].dims };
  struct oc_profiles p = read_profiles(o, broken[_i].shape);

  ck_assert_int_eq(p.kind, OC_PROFILE_NONE);
  ck_assert_msg(findings.n > 0, "%s", broken[_i].finding);
  const struct oc_finding_info *info = oc_finding_info(findings.items[0].id);
  ck_assert_str_eq(info->id, broken[_i].finding);
  ck_assert_str_eq(info->vendor_code, broken[_i].code);
  ck_assert_int_eq(info->severity, OC_SEV_ERROR);
}
END_TEST

/* a + b, as the judge may leave it: another dtype than the model's. */
static struct oc_op *add_sum(void)
{
  struct oc_op *sum = oc_graph_add(g, "sum", "Add", 2, 1);

  for (uint32_t i = 0; i < 2; i++)
    oc_op_link(sum, i, g->ops[i], 0);
  ck_assert_int_eq(oc_infer_again(g, NULL, NULL), 0);
  sum->outputs[0].t.got = sum->inputs[0].t.got = sum->inputs[1].t.got = OC_DT_F16;
  return sum;
}

START_TEST(shapes_of_each_profile)
{
  const struct oc_profile_options o = { .dims = "1,2,1;4,8,4" };
  struct oc_profiles p = read_profiles(o, "b:-1,-1;a:-1,1");
  struct oc_profile_shapes *shapes = NULL;
  const struct oc_op *sum = add_sum();
  const struct oc_tensor *t = &sum->outputs[0].t;
  struct oc_shape before = t->shape;

  ck_assert_int_eq(oc_profiles_infer(g, &p, &findings, &shapes, NULL), 0);
  ck_assert_uint_eq(findings.n, 0);
  ck_assert_int_eq(t->got, OC_DT_F16);
  ck_assert(oc_shape_eq(t->shape, before));
  for (int i = 0; i < 2; i++) {
    oc_profiles_use(shapes, i);
    ck_assert_uint_eq(t->shape.rank, 2);
    ck_assert_int_eq(t->shape.dims[0], i ? 4 : 1);
    ck_assert_int_eq(t->shape.dims[1], i ? 8 : 2);
    ck_assert_int_eq(sum->inputs[0].t.shape.dims[0], i ? 4 : 1);
    ck_assert_int_eq(t->got, OC_DT_F16);
  }
  oc_profiles_use(shapes, -1);
  ck_assert(oc_shape_eq(t->shape, before));
  ck_assert(sum->dynamic_impl);
}
END_TEST

START_TEST(profile_against_the_model)
{
  const struct oc_profile_options o = { .dims = "3,3;4,8" };
  struct oc_profiles p = read_profiles(o, "a:-1;b:-1");
  struct oc_profile_shapes *shapes = NULL;

  add_sum();
  ck_assert_int_eq(oc_profiles_infer(g, &p, &findings, &shapes, NULL), 0);
  ck_assert_uint_eq(findings.n, 1);
  const struct oc_finding *f = &findings.items[0];
  ck_assert_str_eq(oc_finding_info(f->id)->id, "profile-conflict");
  ck_assert_str_eq(f->subject, "sum");
  ck_assert_str_eq(f->args[1].name, "profile");
  ck_assert_str_eq(f->args[1].value, "2");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("profiles");
  TCase *t = tcase_create("all");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, batch_sizes);
  tcase_add_loop_test(t, image_sizes, 0, 2);
  tcase_add_test(t, dims_in_the_order_of_the_shapes);
  tcase_add_test(t, no_profiles);
  tcase_add_test(t, shapes_of_each_profile);
  tcase_add_test(t, profile_against_the_model);
  tcase_add_loop_test(t, broken_rule, 0, sizeof(broken) / sizeof(broken[0]));
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
