/* What identifies a file before it is written, and the lanes in which constants are made.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "emit/emit.h"
#include "graph/graph.h"
#include "samples.h"

static struct oc_arena arena;
static struct oc_findings findings;
static struct oc_error err;
static int n_digests, fails_at;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
  fails_at = -1;
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

static struct oc_emit_plan *prepare(struct oc_graph *g, const struct oc_emit_options *opt)
{
  struct oc_emit_plan *p = NULL;

  ck_assert_msg(oc_emit_prepare(g, opt, &findings, &p, &err) == 0, "%s", err.msg);
  return p;
}

/* Not a good digest, but one that differs when bytes do. */
static int digest(const void *p, size_t len, uint8_t ret[32])
{
  uint64_t h = 1469598103934665603ull;

  for (size_t i = 0; i < len; i += sizeof h) {
    uint64_t word = 0;
    memcpy(&word, (const uint8_t *)p + i, len - i < sizeof word ? len - i : sizeof word);
    h = (h ^ word) * 1099511628211ull;
    h ^= h >> 29;
  }
  memset(ret, 0, 32);
  memcpy(ret, &h, sizeof h);
  return n_digests++ == fails_at ? OC_E_NOMEM : 0;
}

static struct oc_buf identity(struct oc_graph *g, const char *label)
{
  const struct oc_emit_options opt = { .soc = "Ascend310P3",
                                       .label = label,
                                       .digest = digest };
  struct oc_emit_plan *p = prepare(g, &opt);
  struct oc_buf out;

  oc_buf_init(&out, 1 << 20);
  ck_assert_int_eq(oc_emit_identity(p, &out, &err), 0);
  oc_emit_free(p);
  return out;
}

START_TEST(identity_follows_the_bytes)
{
  struct oc_graph *changed = sample_conv(&arena);
  uint8_t *data = oc_arena_memdup(&arena, oc_graph_find(changed, "s")->value->data, 4);
  struct oc_value *v = OC_NEW(&arena, struct oc_value);
  struct oc_buf a = identity(sample_conv(&arena), NULL),
                b = identity(sample_conv(&arena), NULL);
  struct oc_buf c = identity(sample_conv(&arena), "other");

  *v = *oc_graph_find(changed, "s")->value;
  data[0] ^= 1;
  v->data = data;
  oc_graph_find(changed, "s")->value = v;
  struct oc_buf d = identity(changed, NULL);
  ck_assert_uint_eq(a.len, b.len);
  ck_assert_int_eq(memcmp(a.data, b.data, a.len), 0);
  ck_assert(a.len != c.len || memcmp(a.data, c.data, a.len) != 0);
  ck_assert(a.len != d.len || memcmp(a.data, d.data, a.len) != 0);
  oc_buf_clear(&a);
  oc_buf_clear(&b);
  oc_buf_clear(&c);
  oc_buf_clear(&d);
}
END_TEST

START_TEST(identity_needs_a_digest)
{
  struct oc_emit_plan *p =
      prepare(sample_conv(&arena), &(struct oc_emit_options){ .soc = "Ascend310P3" });
  struct oc_buf out;

  oc_buf_init(&out, 1 << 20);
  ck_assert_int_eq(oc_emit_identity(p, &out, &err), OC_E_ARG);
  oc_buf_clear(&out);
  oc_emit_free(p);
}
END_TEST

/* The last first, and the lanes in turn; as wrong an order as there is. */
static int backwards(void *ctx, unsigned n_lanes, uint64_t n,
                     int (*work)(void *arg, unsigned lane, uint64_t i), void *arg)
{
  int *calls = ctx, rc = 0;

  for (uint64_t i = n; i > 0 && rc == 0; i--)
    rc = work(arg, (unsigned)(i % n_lanes), i - 1);
  *calls += (int)n;
  return rc;
}

/* Two constants of several pieces each, one of them lowered, and a small one between. */
static struct oc_graph *large_constants(void)
{
  struct oc_graph *g = oc_graph_new(&arena, "large");
  static const size_t counts[] = { 1200001, 5, 1500000 };
  static const char *const names[] = { "a", "b", "c" };
  struct oc_op *end = oc_graph_add(g, "Node_Output", "NetOutput", 3, 0);

  for (uint32_t k = 0; k < 3; k++) {
    struct oc_value *v = OC_NEW(&arena, struct oc_value);
    float *x = OC_NEW_N(&arena, float, counts[k]);
    int64_t dim = (int64_t)counts[k];
    enum oc_dtype got = k == 1 ? OC_DT_F32 : OC_DT_F16;

    for (size_t i = 0; i < counts[k]; i++)
      x[i] = (float)((double)(i * 2654435761u % 1000003 + k) / 10.0);
    *v = (struct oc_value){ OC_DT_F32, oc_shape_of(&arena, &dim, 1), (uint8_t *)x,
                            counts[k] * sizeof(float), false };
    struct oc_op *c = oc_graph_add_const(g, names[k], v);
    struct oc_op *cast =
        oc_graph_add(g, oc_arena_printf(&arena, "%s_cast", names[k]), "Cast", 1, 1);
    cast->inserted = true;
    oc_attr_set_dtype(g, cast, "dst_type", got);
    c->outputs[0].t.want = c->outputs[0].t.got = OC_DT_F32;
    oc_op_link(cast, 0, c, 0);
    cast->inputs[0].t = c->outputs[0].t;
    cast->outputs[0].t = c->outputs[0].t;
    cast->outputs[0].t.got = cast->outputs[0].t.want = got;
    oc_op_link(end, k, cast, 0);
    end->inputs[k].t = cast->outputs[0].t;
  }
  return g;
}

static const uint8_t *written(const struct oc_emit_plan *p)
{
  int fd = memfd_create("om", MFD_CLOEXEC);

  ck_assert_msg(oc_emit_write(p, fd, &err) == 0, "%s", err.msg);
  void *bytes = mmap(NULL, oc_emit_size(p), PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  ck_assert_ptr_ne(bytes, MAP_FAILED);
  return bytes;
}

START_TEST(lanes_give_the_same_bytes)
{
  int calls = 0;
  const struct oc_emit_lanes lanes = { (unsigned)_i, backwards, &calls };
  struct oc_emit_options opt = { .soc = "Ascend310P3", .digest = digest };
  struct oc_emit_plan *a = prepare(large_constants(), &opt);
  opt.lanes = &lanes;
  struct oc_emit_plan *b = prepare(large_constants(), &opt);
  struct oc_buf ida, idb;

  ck_assert_uint_eq(oc_emit_stats(a)->n_stored, 3);
  ck_assert_uint_eq(oc_emit_stats(a)->overflowed, oc_emit_stats(b)->overflowed);
  ck_assert_uint_gt(oc_emit_stats(a)->overflowed, 1000);
  oc_buf_init(&ida, 1 << 20);
  oc_buf_init(&idb, 1 << 20);
  ck_assert_int_eq(oc_emit_identity(a, &ida, &err), 0);
  ck_assert_int_eq(oc_emit_identity(b, &idb, &err), 0);
  ck_assert_uint_eq(ida.len, idb.len);
  ck_assert_int_eq(memcmp(ida.data, idb.data, ida.len), 0);
  ck_assert_uint_eq(oc_emit_size(a), oc_emit_size(b));
  const uint8_t *x = written(a), *y = written(b);
  ck_assert_int_eq(memcmp(x, y, oc_emit_size(a)), 0);
  ck_assert_int_ge(calls, _i > 1 ? 6 : 0);
  munmap((void *)x, oc_emit_size(a));
  munmap((void *)y, oc_emit_size(b));
  oc_buf_clear(&ida);
  oc_buf_clear(&idb);
  oc_emit_free(a);
  oc_emit_free(b);
}
END_TEST

/* A digest that fails, whichever it is, fails the whole. */
START_TEST(digests_may_fail)
{
  int calls = 0;
  const struct oc_emit_lanes lanes = { 2, backwards, &calls };
  const struct oc_emit_options opt = { .soc = "Ascend310P3",
                                       .digest = digest,
                                       .lanes = _i % 2 ? &lanes : NULL };
  struct oc_emit_plan *p = NULL;

  n_digests = 0;
  fails_at = 9 * _i;
  ck_assert_int_eq(oc_emit_prepare(large_constants(), &opt, &findings, &p, &err),
                   OC_E_IO);
  ck_assert_ptr_null(p);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("emit identity");
  TCase *t = tcase_create("identity");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 120);
  tcase_add_test(t, identity_follows_the_bytes);
  tcase_add_test(t, identity_needs_a_digest);
  tcase_add_loop_test(t, lanes_give_the_same_bytes, 1, 5);
  tcase_add_loop_test(t, digests_may_fail, 0, 5);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
