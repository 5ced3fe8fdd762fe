/* Bytes as a table file or as settings; the first byte says as which: one of ours or a
 * user's own (YAML), a toolkit's op file (JSON), JSON on its own, or omccd.yaml. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "config/config.h"
#include "optable/optable.h"
#include "target.h"

#define TEXT_CAP ((size_t)16 << 20)

/* The smallest set of tables that is complete. */
static const char families[] = "schema: omcc/families/1\ncube: [MatMul]\nfamilies:\n"
                               "- id: f\n  product: P\n  product_zh: P\n  table: t\n"
                               "  short: Chip\n  aic: A\n  bf16: true\n  listed: true\n"
                               "  arch: 1\n  socs:\n  - Chip1 1 1\n";

static void own_table(const uint8_t *p, size_t len)
{
  struct oc_optable *t = oc_optable_new();
  struct oc_error err = { 0 };

  if (oc_optable_add(t, "a.yaml", p, len, &err) == 0)
    (void)oc_optable_add(t, "f.yaml", families, sizeof families - 1, &err);
  (void)oc_optable_add_extra(t, "extra/b.yaml", p, len, &err);
  if (oc_optable_finish(t, &err) == 0)
    (void)oc_optable_nearest_soc(t, "Chip");
  oc_optable_free(t);
}

static void ops_info(const uint8_t *p, size_t len)
{
  static const char ours[] = "schema: omcc/soc/1\nid: t\nsource: \"s\"\nops:\n"
                             "  Relu:\n    in: x f16\n    out: y =\n";
  struct oc_optable *t = oc_optable_new();
  struct oc_error err = { 0 };

  (void)oc_optable_add(t, "t.yaml", ours, sizeof ours - 1, &err);
  (void)oc_optable_add_ops_info(t, "t", "toolkit/t/a.json", p, len, &err);
  oc_optable_free(t);
}

static void write_again(const struct oc_json *v, struct oc_json_writer *w)
{
  int64_t i;
  double d;

  if (oc_json_i64(v, &i))
    oc_json_put_i64(w, NULL, i);
  else if (oc_json_f64(v, &d))
    oc_json_put_f64(w, NULL, d);
  else if (v->kind == OC_JSON_STRING)
    oc_json_put_str(w, NULL, v->text);
  else
    oc_json_put_bool(w, NULL, oc_json_bool(v, false));
}

static void json(const uint8_t *p, size_t len)
{
  struct oc_json *root = NULL, *again = NULL;
  struct oc_error err = { 0 };
  struct oc_json_writer w;
  struct oc_arena arena;
  struct oc_buf out;

  oc_arena_init(&arena, FUZZ_ARENA_CAP);
  oc_buf_init(&out, TEXT_CAP);
  if (oc_json_parse((const char *)p, len, len & 3, &arena, &root, &err) == 0) {
    oc_json_writer_init(&w, &out, len & 1);
    oc_json_begin_array(&w, NULL);
    for (const struct oc_json *v = root->first; v; v = v->next)
      write_again(v, &w);
    oc_json_end_array(&w);
    /* What the writer writes is JSON. */
    if (oc_json_parse((const char *)out.data, out.len, 0, &arena, &again, &err) < 0)
      abort();
  }
  oc_buf_clear(&out);
  oc_arena_clear(&arena);
}

static void settings(const uint8_t *p, size_t len)
{
  struct oc_config c;
  struct oc_error err = { 0 };

  if (oc_config_init(&c, &err) == 0)
    (void)oc_config_read(&c, (const char *)p, len, "omccd.yaml", &err);
  oc_config_clear(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  static void (*const kinds[])(const uint8_t *, size_t) = { own_table, ops_info, json,
                                                            settings };

  if (len > 0)
    kinds[data[0] % OC_COUNT(kinds)](data + 1, len - 1);
  return 0;
}
