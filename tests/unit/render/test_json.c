/* JSON: the names that are promised, read back by our own strict reader. */
#include <string.h>

#include "suites.h"

static const struct oc_json *at(const struct oc_json *v, size_t i)
{
  const struct oc_json *e = v->first;

  while (e && i--)
    e = e->next;
  ck_assert_ptr_nonnull(e);
  return e;
}

static const struct oc_json *get(const struct oc_json *v, const char *key)
{
  const struct oc_json *m = oc_json_get(v, key);

  ck_assert_msg(m != NULL, "'%s' is missing", key);
  return m;
}

static void expect(const struct oc_json *v, const char *key, const char *value)
{
  ck_assert_str_eq(oc_json_string(get(v, key), "?"), value);
}

static void check_findings(const struct oc_json *root)
{
  const struct oc_json *f = at(get(root, "findings"), 0);

  expect(f, "id", "flag-unknown");
  expect(f, "severity", "error");
  expect(f, "file", "keep.cfg");
  expect(f, "flag", "keep_dtype");
  expect(f, "subject", "keep_dtpye");
  expect(f, "text", "'--keep_dtpye' is not a flag of atc or omcc");
  ck_assert_int_eq(get(f, "fix")->kind, OC_JSON_NULL);
  ck_assert(oc_str_is(get(f, "line")->text, "3"));
}

static void check_data(const struct oc_json *data)
{
  const struct oc_json *op, *tensor, *reason, *entry;

  expect(get(data, "mode"), "value", "fp16");
  ck_assert(!oc_json_bool(get(get(data, "mode"), "given"), true));
  expect(get(data, "table"), "id", "ascend310p");
  expect(get(data, "table"), "source", "public");
  ck_assert_uint_eq(get(data, "ops")->n, 5);
  op = at(get(data, "ops"), 2);
  expect(op, "name", "/b0/act/Relu");
  expect(op, "type", "Relu");
  expect(op, "engine", "aicore");
  ck_assert_int_eq(get(op, "source_type")->kind, OC_JSON_NULL);
  ck_assert(oc_json_bool(get(op, "kept"), false));
  tensor = at(get(at(get(data, "ops"), 1), "outputs"), 0);
  expect(tensor, "name", "y");
  expect(tensor, "orig", "float32");
  expect(tensor, "got", "float16");
  reason = get(op, "reason");
  expect(reason, "rule", "keep");
  expect(reason, "file", "keep.cfg");
  ck_assert(oc_str_is(get(reason, "line")->text, "1"));
  expect(reason, "text", "keep.cfg:1 OpType::Relu");
  entry = at(get(data, "lists"), 1);
  expect(entry, "file", "keep.cfg");
  expect(entry, "text", "/b0/conv/Con");
  expect(entry, "state", "unmatched");
  ck_assert(oc_str_is(get(entry, "ops")->text, "0"));
  ck_assert(oc_str_is(get(get(data, "casts"), "added")->text, "2"));
  ck_assert(oc_str_is(get(get(data, "casts"), "removed")->text, "0"));
}

START_TEST(explain)
{
  struct oc_arena arena;
  struct oc_findings fs;
  struct oc_finding *f;
  struct oc_json_writer w;
  struct oc_json *root;
  struct oc_error err = { 0 };
  struct oc_buf out;

  oc_arena_init(&arena, 0);
  oc_buf_init(&out, 1 << 20);
  oc_findings_init(&fs, &arena);
  f = oc_finding_add(&fs, OC_FINDING_FLAG_UNKNOWN, "keep_dtpye", "hint", "", NULL);
  f->flag = "keep_dtype";
  f->entry = 2;
  oc_json_writer_init(&w, &out, _i == 0);
  oc_render_json_begin(&w, "omcc.explain/1", 2, "request", "no", &fs, &sample_places);
  const Omcc__V1__Report *r = sample_report(&arena);

  oc_render_json_report(&w, r, r, false, &sample_places);
  oc_render_json_end(&w);
  ck_assert_msg(!oc_json_parse(oc_buf_str(&out), out.len, 0, &arena, &root, &err), "%s",
                err.msg);
  expect(root, "schema", "omcc.explain/1");
  expect(root, "code", "request");
  expect(root, "message", "no");
  ck_assert(!oc_json_bool(get(root, "ok"), true));
  check_findings(root);
  check_data(get(root, "data"));
  oc_buf_clear(&out);
  oc_arena_clear(&arena);
}
END_TEST

TCase *json_cases(void)
{
  TCase *t = tcase_create("json");

  tcase_add_loop_test(t, explain, 0, 2);
  return t;
}
