/* Constants: every way a TensorProto can hold its elements, and external data. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"
#include "onnx_text.h"
#include "wire/wire.h"

enum { MOST = 1 << 16 };

/* A model with one initializer whose message is `t`, and nothing else but a Relu. */
static void model_of(const struct oc_buf *t, struct oc_buf *out)
{
  struct oc_buf g, opset;
  oc_buf_init(&g, MOST);
  oc_buf_init(&opset, MOST);
  /* The text model's own graph, then the initializer appended to a graph of its own. */
  oc_wire_put_bytes(&g, 1, "\x0a\x01t\x12\x01y\x1a\x01r\x22\x04Relu", 15);
  oc_wire_put_message(&g, 5, t);
  oc_wire_put_bytes(&g, 12, "\x0a\x01y", 3);
  oc_wire_put_i64(&opset, 2, 13);
  oc_wire_put_i64(out, 1, 8);
  oc_wire_put_message(out, 7, &g);
  oc_wire_put_message(out, 8, &opset);
  oc_buf_clear(&g);
  oc_buf_clear(&opset);
}

static void start(struct oc_buf *t, int type, const int64_t *dims, size_t n)
{
  oc_buf_init(t, MOST);
  for (size_t i = 0; i < n; i++)
    oc_wire_put_i64(t, 1, dims[i]);
  oc_wire_put_varint(t, 2, (uint64_t)type);
  oc_wire_put_string(t, 8, "t");
}

static void run(const struct oc_buf *t, const struct oc_import_options *opt,
                struct imported *im)
{
  oc_buf_init(&im->model, MOST);
  model_of(t, &im->model);
  import_bytes(im->model.data, im->model.len, opt, im);
}

/* Element types with their typed field, and the bytes that two elements must become. */
static const struct {
  int type;
  uint32_t field;
  int64_t v[2];
  const char *want;
  size_t len;
} typed[] = {
  { 2, 5, { 1, 255 }, "\x01\xff", 2 },
  { 3, 5, { 1, -1 }, "\x01\xff", 2 },
  { 4, 5, { 1, 65535 }, "\x01\0\xff\xff", 4 },
  { 5, 5, { 1, -2 }, "\x01\0\xfe\xff", 4 },
  { 6, 5, { 1, -2 }, "\x01\0\0\0\xfe\xff\xff\xff", 8 },
  { 7, 7, { 1, -2 }, "\x01\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", 16 },
  { 9, 5, { 0, 1 }, "\0\x01", 2 },
  { 10, 5, { 0x3c00, 0xc000 }, "\x00\x3c\x00\xc0", 4 },
  { 12, 11, { 1, 0xffffffff }, "\x01\0\0\0\xff\xff\xff\xff", 8 },
  { 13, 11, { 1, 2 }, "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 16 },
  { 16, 5, { 0x3f80, 0xc000 }, "\x80\x3f\x00\xc0", 4 },
};

START_TEST(varint_fields)
{
  const int64_t two = 2;
  for (int packed = 0; packed < 2; packed++) {
    struct oc_buf t;
    struct imported im;
    start(&t, typed[_i].type, &two, 1);
    if (packed)
      oc_wire_put_packed_i64(&t, typed[_i].field, typed[_i].v, 2);
    for (int i = 0; i < 2 && !packed; i++)
      oc_wire_put_i64(&t, typed[_i].field, typed[_i].v[i]);
    run(&t, NULL, &im);
    ck_assert_msg(im.rc == 0, "row %d: %s", _i, im.findings_text);
    const struct oc_value *v = im.graph->ops[0]->value;
    ck_assert(!v->mapped);
    ck_assert_uint_eq(v->len, typed[_i].len);
    ck_assert_mem_eq(v->data, typed[_i].want, v->len);
    oc_buf_clear(&t);
    imported_clear(&im);
  }
}
END_TEST

/* One packed run of floats is used in place, raw data too. */
START_TEST(no_copies)
{
  const int64_t two = 2;
  const float v[] = { 1.0f, -2.0f };
  for (int raw = 0; raw < 2; raw++) {
    struct oc_buf t;
    struct imported im;
    start(&t, 1, &two, 1);
    if (raw)
      oc_wire_put_bytes(&t, 9, v, sizeof(v));
    else
      oc_wire_put_packed_f32(&t, 4, v, 2);
    run(&t, NULL, &im);
    ck_assert_msg(im.rc == 0, "%s", im.findings_text);
    const struct oc_value *got = im.graph->ops[0]->value;
    ck_assert(got->mapped);
    ck_assert(got->data >= im.model.data &&
              got->data + got->len <= im.model.data + im.model.len);
    ck_assert_mem_eq(got->data, v, sizeof(v));
    oc_buf_clear(&t);
    imported_clear(&im);
  }
}
END_TEST

START_TEST(floats_one_by_one)
{
  const int64_t two = 2;
  struct oc_buf t;
  struct imported im;
  start(&t, 1, &two, 1);
  oc_wire_put_f32(&t, 4, 1.0f);
  oc_wire_put_f32(&t, 4, -2.0f);
  run(&t, NULL, &im);
  ck_assert_int_eq(im.rc, 0);
  ck_assert(!im.graph->ops[0]->value->mapped);
  ck_assert_mem_eq(im.graph->ops[0]->value->data, "\0\0\x80\x3f\0\0\0\xc0", 8);
  oc_buf_clear(&t);
  imported_clear(&im);
}
END_TEST

static const struct {
  int type;
  int64_t dims[3];
  size_t n_dims, raw; /* bytes of raw data */
  bool good;
} shapes[] = {
  { 1, { 0 }, 0, 4, true },
  { 1, { 2, 0 }, 2, 0, true },
  { 1, { 2 }, 1, 7, false },
  { 1, { 2 }, 1, 0, false },
  { 1, { -2 }, 1, 8, false },
  { 1, { INT64_MAX, INT64_MAX }, 2, 8, false },
  { 1, { INT64_MAX, 0 }, 2, 0, true },
  { 1, { (int64_t)1 << 62 }, 1, 8, false },
  { 99, { 1 }, 1, 4, false },
  { 0, { 1 }, 1, 4, false },
  { 21, { 1 }, 1, 1, false }, /* uint4 has no counterpart */
  { 22, { 3 }, 1, 2, true },
};

START_TEST(shape_and_length)
{
  struct oc_buf t;
  struct imported im;
  start(&t, shapes[_i].type, shapes[_i].dims, shapes[_i].n_dims);
  oc_wire_put_bytes(&t, 9, "\0\0\0\0\0\0\0\0", shapes[_i].raw);
  run(&t, NULL, &im);
  ck_assert_msg((im.rc == 0) == shapes[_i].good, "row %d: %s", _i, im.findings_text);
  if (!shapes[_i].good)
    ck_assert_str_eq(im.findings_text, "tensor-bad(t)");
  ck_assert_uint_lt(im.arena.used, 1u << 20);
  oc_buf_clear(&t);
  imported_clear(&im);
}
END_TEST

static const struct {
  const char *location, *offset, *length;
  const char *want; /* "" or the finding */
} outside[] = {
  { "w.bin", "4", "8", "" },
  { "w.bin", NULL, NULL, "" },
  { "w.bin", "8", NULL, "" },
  { "w.bin", "9", NULL, "external-range(w.bin)" },
  { "w.bin", "8", "9", "external-range(w.bin)" },
  { "w.bin", "18446744073709551615", NULL, "external-range(w.bin)" },
  { "w.bin", "0", "18446744073709551615", "external-range(w.bin)" },
  { "w.bin", "0", "4", "tensor-bad(t)" },
  { "other", "0", "8", "external-missing(other)" },
  { "../w.bin", "0", "8", "external-missing(../w.bin)" },
  { "w.bin", "x", "8", "model-malformed()" },
  { "w.bin", "-1", "8", "model-malformed()" },
  { NULL, "0", "8", "model-malformed()" },
};

static void put_entry(struct oc_buf *t, const char *key, const char *value)
{
  struct oc_buf e;
  if (!value)
    return;
  oc_buf_init(&e, MOST);
  oc_wire_put_string(&e, 1, key);
  oc_wire_put_string(&e, 2, value);
  oc_wire_put_message(t, 13, &e);
  oc_buf_clear(&e);
}

START_TEST(external_data)
{
  static const uint8_t bytes[16] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  };
  const struct oc_import_file file = { "w.bin", bytes, sizeof(bytes) };
  const struct oc_import_options opt = { .files = &file, .n_files = 1 };
  const int64_t two = 2;
  struct oc_buf t;
  struct imported im;
  start(&t, 1, &two, 1);
  put_entry(&t, "location", outside[_i].location);
  put_entry(&t, "offset", outside[_i].offset);
  put_entry(&t, "length", outside[_i].length);
  oc_wire_put_varint(&t, 14, 1);
  run(&t, &opt, &im);
  ck_assert_msg(strcmp(im.findings_text, outside[_i].want) == 0, "row %d: %s", _i,
                im.findings_text);
  if (outside[_i].want[0] == '\0') {
    const struct oc_value *v = im.graph->ops[0]->value;
    uint64_t offset = outside[_i].offset ? strtoull(outside[_i].offset, NULL, 10) : 0;
    ck_assert(v->mapped);
    ck_assert_ptr_eq(v->data, bytes + offset);
  }
  oc_buf_clear(&t);
  imported_clear(&im);
}
END_TEST

START_TEST(names_of_external_files)
{
  const int64_t two = 2;
  struct oc_buf t, model;
  struct oc_arena arena;
  struct oc_findings fs;
  struct oc_error err = { 0 };
  const char *const *names = NULL;
  size_t n = 9;
  start(&t, 1, &two, 1);
  put_entry(&t, "location", "weights/a b.bin");
  oc_wire_put_varint(&t, 14, 1);
  oc_buf_init(&model, MOST);
  model_of(&t, &model);
  oc_arena_init(&arena, 0);
  oc_findings_init(&fs, &arena);
  ck_assert_int_eq(
      oc_import_external(model.data, model.len, &arena, &names, &n, &fs, &err), 0);
  ck_assert_uint_eq(n, 1);
  ck_assert_str_eq(names[0], "weights/a b.bin");
  ck_assert_int_ne(
      oc_import_external(model.data, model.len - 1, &arena, &names, &n, &fs, &err), 0);
  ck_assert_uint_eq(fs.n, 1);
  oc_arena_clear(&arena);
  oc_buf_clear(&model);
  oc_buf_clear(&t);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_tensors");
  TCase *t = tcase_create("tensors");
  tcase_add_loop_test(t, varint_fields, 0, (int)(sizeof(typed) / sizeof(typed[0])));
  tcase_add_test(t, no_copies);
  tcase_add_test(t, floats_one_by_one);
  tcase_add_loop_test(t, shape_and_length, 0, (int)(sizeof(shapes) / sizeof(shapes[0])));
  tcase_add_loop_test(t, external_data, 0, (int)(sizeof(outside) / sizeof(outside[0])));
  tcase_add_test(t, names_of_external_files);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
