/* Keys: every flag of the table makes a new key unless the table calls it neutral, and
 * "why" names exactly that part; contents, canonical lists, packing, comparing. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "flags/flags.h"
#include "key/key.h"

/* A request that tests change piece by piece. */
struct request {
  struct oc_arena arena;
  struct oc_flags flags;
  struct oc_key_file files[16];
  struct oc_key_folder_entry entries[16];
  struct oc_key_folder folders[4];
  struct oc_key_external external[4];
  struct oc_key_identity identity[4];
  struct oc_key_request req;
};

static void put_file(struct request *r, const char *flag, const char *text)
{
  struct oc_key_file *f = NULL;

  for (size_t i = 0; i < r->req.n_files; i++)
    if (oc_streq(r->files[i].flag, flag))
      f = &r->files[i];
  if (!f)
    f = &r->files[r->req.n_files++];
  f->flag = flag;
  f->bytes = text;
  f->len = strlen(text);
  ck_assert_int_eq(oc_sha256_bytes(text, f->len, f->sha256), 0);
}

/* What the flag names: a file with this content, or a folder with one such file. */
static void put_content(struct request *r, const struct oc_flag_info *info,
                        const char *text)
{
  struct oc_key_folder_entry *e = &r->entries[0];

  if (info->content != OC_FLAG_DIR) {
    put_file(r, info->name, text);
    return;
  }
  *e = (struct oc_key_folder_entry){ .name = "bank.json" };
  ck_assert_int_eq(oc_sha256_bytes(text, strlen(text), e->sha256), 0);
  r->folders[0] = (struct oc_key_folder){ info->name, r->entries, 1 };
  r->req.folders = r->folders;
  r->req.n_folders = 1;
}

static void set(struct request *r, const char *name, const char *value)
{
  ck_assert_int_eq(oc_flags_set(&r->flags, name, value), 0);
}

static void start(struct request *r)
{
  memset(r, 0, sizeof(*r));
  oc_arena_init(&r->arena, 0);
  oc_flags_init(&r->flags, &r->arena);
  set(r, "model", "m.onnx");
  set(r, "framework", "5");
  set(r, "soc_version", "Ascend310P3");
  set(r, "output", "out/m");
  put_file(r, "model", "model bytes");
  r->external[0].name = "weights.bin";
  memset(r->external[0].sha256, 7, OC_SHA256_LEN);
  r->identity[0].name = "worker";
  memset(r->identity[0].sha256, 9, OC_SHA256_LEN);
  r->identity[1].name = "table:soc/ascend310p.yaml";
  memset(r->identity[1].sha256, 8, OC_SHA256_LEN);
  r->identity[2].name = "toolkit";
  r->identity[2].text = "8.1.RC1";
  r->req = (struct oc_key_request){ .flags = &r->flags,
                                    .backend = "builtin",
                                    .files = r->files,
                                    .n_files = r->req.n_files,
                                    .external = r->external,
                                    .n_external = 1,
                                    .identity = r->identity,
                                    .n_identity = 3 };
}

static void end(struct request *r)
{
  oc_arena_clear(&r->arena);
}

/* Every key that was built in this test, with the fingerprint of its request. */
static struct {
  uint8_t fingerprint[OC_SHA256_LEN], key[OC_SHA256_LEN];
} built[512];
static size_t n_built;

/* Requests with one fingerprint have one key: what a flip changes in the key it changes
 * in the fingerprint too. */
static void check_fingerprint(const struct oc_key_request *req,
                              const struct oc_key_parts *ps)
{
  ck_assert_uint_lt(n_built, OC_COUNT(built));
  ck_assert_int_eq(oc_key_fingerprint(req, built[n_built].fingerprint), 0);
  ck_assert_int_eq(oc_key_digest(ps, built[n_built].key), 0);
  for (size_t i = 0; i < n_built; i++)
    if (!memcmp(built[i].fingerprint, built[n_built].fingerprint, OC_SHA256_LEN))
      ck_assert_mem_eq(built[i].key, built[n_built].key, OC_SHA256_LEN);
  n_built++;
}

static struct oc_key_parts parts_of(struct request *r)
{
  struct oc_key_parts ps;
  struct oc_error err = { 0 };

  oc_key_parts_init(&ps, &r->arena);
  ck_assert_msg(oc_key_build(&r->req, &ps, &err) == 0, "%s", err.msg);
  check_fingerprint(&r->req, &ps);
  return ps;
}

static bool equal(const struct oc_key_parts *a, const struct oc_key_parts *b)
{
  uint8_t x[OC_SHA256_LEN], y[OC_SHA256_LEN];

  ck_assert_int_eq(oc_key_digest(a, x), 0);
  ck_assert_int_eq(oc_key_digest(b, y), 0);
  return memcmp(x, y, sizeof(x)) == 0;
}

/* Exactly one part differs, and it is `name`; through the stored form, as the cache has
 * it. */
static void differs_only_in(struct request *r, const struct oc_key_parts *then,
                            const struct oc_key_parts *now, const char *name)
{
  struct oc_key_difference *d = NULL;
  struct oc_key_blob blob;
  struct oc_buf packed;
  size_t n = 0, index = 9;

  ck_assert_msg(!equal(then, now), "changing '%s' left the key as it was", name);
  oc_buf_init(&packed, 1 << 20);
  ck_assert_int_eq(oc_key_parts_pack(then, &packed), 0);
  blob.p = packed.data;
  blob.len = packed.len;
  ck_assert_int_eq(oc_key_nearest(now, &blob, 1, &r->arena, &index, &d, &n), 1);
  ck_assert_uint_eq(index, 0);
  ck_assert_msg(n == 1, "changing '%s' changed %zu parts, the first '%s'", name, n,
                n ? d[0].name : "");
  ck_assert_str_eq(d[0].name, name);
  oc_buf_clear(&packed);
}

/* A value other than the default, of the right sort. */
static const char *other_value(const struct oc_flag_info *info)
{
  for (size_t i = 0; i < info->n_choices; i++)
    if (!oc_streq(info->choices[i], info->normal))
      return info->choices[i];
  if (info->type == OC_FLAG_BOOL)
    return oc_streq(info->normal, "true") ? "false" : "true";
  if (info->type == OC_FLAG_INT)
    return oc_streq(info->normal, "1") ? "0" : "1";
  return "something:else";
}

/* C81: no option is left out of the key by oversight. */
START_TEST(every_flag)
{
  size_t n = 0;
  const struct oc_flag_info *table = oc_flag_table(&n);

  ck_assert_uint_ge(n, 90);
  for (size_t i = 0; i < n; i++) {
    const struct oc_flag_info *info = &table[i];
    const char *value = other_value(info);
    const char *part =
        oc_streq(info->name, "precision_mode_v2") ? "precision_mode" : info->name;
    struct request r;
    start(&r);
    struct oc_key_parts before = parts_of(&r);
    /* The request gives soc, model, framework and output already. */
    if (oc_streq(info->name, "soc_version"))
      value = "Ascend910B1";
    if (oc_streq(info->name, "precision_mode"))
      value = "force_fp32";
    if (oc_streq(info->name, "precision_mode_v2"))
      value = "origin";
    if (oc_streq(info->name, "framework"))
      value = "3"; /* and with it the default layout */
    set(&r, info->name, value);
    if (info->key == OC_FLAG_KEY_CONTENT && !oc_streq(info->name, "model"))
      put_file(&r, info->name, "content");
    struct oc_key_parts after = parts_of(&r);
    if (info->ours || info->key == OC_FLAG_KEY_NEUTRAL || info->key == OC_FLAG_KEY_NAME ||
        info->key == OC_FLAG_KEY_REJECT || oc_streq(info->name, "model"))
      ck_assert_msg(equal(&before, &after), "'%s' is not neutral", info->name);
    else if (oc_streq(info->name, "framework"))
      ck_assert(!equal(&before, &after));
    else
      differs_only_in(&r, &before, &after, part);
    end(&r);
  }
}
END_TEST

/* The same request again has its fingerprint, in memory of its own too; and names, values
 * and lists do not run into each other. */
START_TEST(fingerprint)
{
  uint8_t first[OC_SHA256_LEN], now[OC_SHA256_LEN];
  struct request a, b;

  start(&a);
  start(&b);
  ck_assert_int_eq(oc_key_fingerprint(&a.req, first), 0);
  ck_assert_int_eq(oc_key_fingerprint(&b.req, now), 0);
  ck_assert_mem_eq(first, now, sizeof(now));
  set(&a, "op_name_map", "xy");
  set(&b, "op_name_mapx", "y");
  ck_assert_int_eq(oc_key_fingerprint(&a.req, first), 0);
  ck_assert_int_eq(oc_key_fingerprint(&b.req, now), 0);
  ck_assert_mem_ne(first, now, sizeof(now));
  b.identity[2].text = NULL; /* a digest of zeros is no text */
  ck_assert_int_eq(oc_key_fingerprint(&b.req, first), 0);
  ck_assert_mem_ne(first, now, sizeof(now));
  end(&a);
  end(&b);
}
END_TEST

START_TEST(every_default_spelled_out)
{
  size_t n = 0;
  const struct oc_flag_info *table = oc_flag_table(&n);
  struct request r;

  start(&r);
  struct oc_key_parts before = parts_of(&r);
  for (size_t i = 0; i < n; i++)
    if (table[i].key == OC_FLAG_KEY_VALUE && table[i].normal[0] &&
        !oc_flags_get(&r.flags, table[i].name) &&
        !oc_starts_with(table[i].name, "precision_mode") &&
        !oc_streq(table[i].name, "input_format"))
      set(&r, table[i].name, table[i].normal);
  set(&r, "input_format", "NCHW");
  set(&r, "precision_mode_v2", "fp16");
  struct oc_key_parts after = parts_of(&r);
  ck_assert(equal(&before, &after));
  end(&r);
}
END_TEST

START_TEST(every_content)
{
  size_t n = 0;
  const struct oc_flag_info *table = oc_flag_table(&n);

  for (size_t i = 0; i < n; i++) {
    const struct oc_flag_info *info = &table[i];
    struct request r;
    if (info->key != OC_FLAG_KEY_CONTENT)
      continue;
    start(&r);
    set(&r, info->name, "a/path");
    put_content(&r, info, "content a");
    struct oc_key_parts before = parts_of(&r);
    set(&r, info->name, "another/path");
    struct oc_key_parts moved = parts_of(&r);
    ck_assert_msg(equal(&before, &moved), "the path of '%s' is in the key", info->name);
    put_content(&r, info, "content b");
    struct oc_key_parts after = parts_of(&r);
    differs_only_in(&r, &before, &after, info->name);
    end(&r);
  }
}
END_TEST

static void folder_entry(struct request *r, const char *name, int digest)
{
  struct oc_key_folder_entry *e = &r->entries[r->folders[0].n++];

  e->name = name;
  e->folder = digest < 0;
  memset(e->sha256, e->folder ? 0 : digest, sizeof(e->sha256));
}

/* Names, each with the byte that its digest is made of; negative: a folder. */
static struct oc_key_parts folder_parts(struct request *r, const char *const *names,
                                        const int *digests)
{
  r->folders[0] = (struct oc_key_folder){ "op_bank_path", r->entries, 0 };
  for (size_t i = 0; names[i]; i++)
    folder_entry(r, names[i], digests[i]);
  return parts_of(r);
}

START_TEST(every_byte_of_a_folder)
{
  static const struct {
    const char *id, *names[4], *line;
    int digests[4];
  } cases[] = {
    { "other content",
      { "a.json", "sub", "sub/b.json" },
      "sub/b.json (sha256 070707070707)",
      { 1, -1, 7 } },
    { "other name",
      { "a.json", "sub", "sub/c.json" },
      "sub/c.json (sha256 020202020202)",
      { 1, -1, 2 } },
    { "one less", { "a.json", "sub" }, NULL, { 1, -1 } },
    { "one more",
      { "a.json", "b.json", "sub", "sub/b.json" },
      "b.json (sha256 030303030303)",
      { 1, 3, -1, 2 } },
    { "a file for a folder",
      { "a.json", "sub", "sub/b.json" },
      "sub (sha256 040404040404)",
      { 1, 4, 2 } },
    { "contents swapped",
      { "a.json", "sub", "sub/b.json" },
      "a.json (sha256 020202020202)",
      { 2, -1, 1 } },
    { "empty", { NULL }, NULL, { 0 } },
  };
  static const char *const names[] = { "a.json", "sub", "sub/b.json", NULL };
  static const int digests[] = { 1, -1, 2 };
  struct request r;

  start(&r);
  set(&r, "op_bank_path", "bank");
  r.req.folders = r.folders;
  r.req.n_folders = 1;
  struct oc_key_parts before = folder_parts(&r, names, digests);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *const *other = cases[i].names;
    const char *copy[5] = { other[0], other[1], other[2], other[3], NULL };
    struct oc_key_parts after = folder_parts(&r, copy, cases[i].digests);
    differs_only_in(&r, &before, &after, "op_bank_path");
    const struct oc_key_part *p = oc_key_find(&after, "op_bank_path");
    ck_assert_msg(!cases[i].line || strstr(p->text, cases[i].line), "%s: %s", cases[i].id,
                  p->text);
  }
  struct oc_key_parts again = folder_parts(&r, names, digests);
  ck_assert(equal(&before, &again));
  end(&r);
}
END_TEST

/* The shown digits are equal, the whole ones are not. */
START_TEST(digests_of_a_folder_count_in_full)
{
  static const char *const names[] = { "a.json", NULL };
  static const int digests[] = { 1 };
  struct request r;

  start(&r);
  set(&r, "op_bank_path", "bank");
  r.req.folders = r.folders;
  r.req.n_folders = 1;
  struct oc_key_parts before = folder_parts(&r, names, digests);
  r.entries[0].sha256[OC_SHA256_LEN - 1] ^= 1;
  struct oc_key_parts after = parts_of(&r);
  differs_only_in(&r, &before, &after, "op_bank_path");
  end(&r);
}
END_TEST

START_TEST(backend_and_external)
{
  struct request r;

  start(&r);
  struct oc_key_parts before = parts_of(&r);
  r.identity[0].sha256[31] ^= 1; /* the worker binary */
  struct oc_key_parts after = parts_of(&r);
  differs_only_in(&r, &before, &after, "backend:worker");
  r.identity[0].sha256[31] ^= 1;
  r.identity[1].sha256[0] ^= 1; /* a table */
  after = parts_of(&r);
  differs_only_in(&r, &before, &after, "backend:table:soc/ascend310p.yaml");
  r.identity[1].sha256[0] ^= 1;
  r.identity[2].text = "8.2.RC1";
  after = parts_of(&r);
  differs_only_in(&r, &before, &after, "backend:toolkit");
  r.identity[2].text = "8.1.RC1";
  r.req.backend = "atc";
  after = parts_of(&r);
  differs_only_in(&r, &before, &after, "backend");
  r.req.backend = "builtin";
  r.external[0].sha256[5] ^= 1; /* one byte of external data */
  after = parts_of(&r);
  differs_only_in(&r, &before, &after, "external:weights.bin");
  r.external[0].sha256[5] ^= 1;
  r.req.n_external = 0;
  after = parts_of(&r);
  differs_only_in(&r, &before, &after, "external:weights.bin");
  r.req.n_external = 1;
  r.req.strict_lists = true;
  after = parts_of(&r);
  differs_only_in(&r, &before, &after, "strict_lists");
  end(&r);
}
END_TEST

static const struct {
  const char *flag, *a, *b;
  bool same;
} lists[] = {
  { "keep_dtype", "OpType::Relu\nconv1\n", "OpType::Relu\r\nconv1", true },
  { "keep_dtype", "OpType::Relu\nconv1\n", "\xef\xbb\xbf  OpType::Relu  \n\n\nconv1\n",
    true },
  { "keep_dtype", "OpType::Relu\nconv1\n", "OpType::Relu\nconv2\n", false },
  { "keep_dtype", "conv1\n", "# note\nconv1\n", false },
  { "modify_mixlist", "{\"black-list\": {\"to-add\": [\"Add\"]}}",
    "{ \"black-list\" :\n {\"to-add\":[\"Add\"] } }\n", true },
  { "modify_mixlist", "{\"black-list\": {\"to-add\": [\"Add\"]}}",
    "{\"white-list\": {\"to-add\": [\"Add\"]}}", false },
  { "op_precision_mode", "[ByOpType]\nAdd=high_precision\n",
    "[ByOpType]\r\nAdd=high_precision", true },
  { "op_precision_mode", "[ByOpType]\nAdd=high_precision\n",
    "[ByOpType]\nAdd=high_performance\n", false },
  { "fusion_switch_file", "A:off\n", "A:off\r\n",
    false }, /* no parser of ours: byte for byte */
};

START_TEST(canonical_lists)
{
  struct request r;

  start(&r);
  set(&r, lists[_i].flag, "f");
  ck_assert(oc_key_wants_bytes(lists[_i].flag));
  put_file(&r, lists[_i].flag, lists[_i].a);
  struct oc_key_parts a = parts_of(&r);
  put_file(&r, lists[_i].flag, lists[_i].b);
  struct oc_key_parts b = parts_of(&r);
  ck_assert_msg(equal(&a, &b) == lists[_i].same, "row %d", _i);
  end(&r);
}
END_TEST

START_TEST(a_list_that_cannot_be_parsed)
{
  struct request r;

  start(&r);
  set(&r, "modify_mixlist", "f");
  put_file(&r, "modify_mixlist", "{ not json");
  struct oc_key_parts a = parts_of(&r);
  put_file(&r, "modify_mixlist", "{ not json either");
  struct oc_key_parts b = parts_of(&r);
  differs_only_in(&r, &a, &b, "modify_mixlist");
  end(&r);
}
END_TEST

START_TEST(missing_content)
{
  struct oc_key_parts ps;
  struct oc_error err = { 0 };
  struct request r;

  start(&r);
  set(&r, "keep_dtype", "k.cfg");
  oc_key_parts_init(&ps, &r.arena);
  ck_assert_int_eq(oc_key_build(&r.req, &ps, &err), OC_E_ARG);
  ck_assert_msg(strstr(err.msg, "keep_dtype") != NULL, "%s", err.msg);
  put_file(&r, "keep_dtype", "conv1");
  r.files[r.req.n_files - 1].bytes = NULL;
  oc_key_parts_init(&ps, &r.arena);
  ck_assert_int_eq(oc_key_build(&r.req, &ps, &err), OC_E_ARG);
  ck_assert(!oc_key_wants_bytes("model"));
  ck_assert(!oc_key_wants_bytes("no_such_flag"));
  ck_assert(!oc_key_wants_bytes("soc_version"));
  end(&r);
}
END_TEST

START_TEST(options_digest_leaves_the_model_out)
{
  uint8_t a[OC_SHA256_LEN], b[OC_SHA256_LEN];
  struct request r;

  start(&r);
  struct oc_key_parts before = parts_of(&r);
  put_file(&r, "model", "other model");
  r.external[0].sha256[0] ^= 1;
  struct oc_key_parts after = parts_of(&r);
  ck_assert_int_eq(oc_key_options_digest(&before, a), 0);
  ck_assert_int_eq(oc_key_options_digest(&after, b), 0);
  ck_assert_mem_eq(a, b, sizeof(a));
  set(&r, "soc_version", "Ascend910B1");
  after = parts_of(&r);
  ck_assert_int_eq(oc_key_options_digest(&after, b), 0);
  ck_assert_mem_ne(a, b, sizeof(a));
  end(&r);
}
END_TEST

static const char *sentence(const struct oc_key_difference *d, struct oc_buf *out)
{
  oc_buf_reset(out);
  ck_assert_int_eq(oc_key_difference_text(d, out), 0);
  return oc_buf_str(out);
}

START_TEST(sentences)
{
  struct oc_key_difference *d = NULL;
  struct oc_buf out;
  struct request r;
  size_t n = 0;

  oc_buf_init(&out, 1 << 16);
  start(&r);
  set(&r, "keep_dtype", "k.cfg");
  put_file(&r, "keep_dtype", "conv1\nconv2\n");
  struct oc_key_parts then = parts_of(&r);
  set(&r, "soc_version", "Ascend910B1");
  put_file(&r, "keep_dtype", "conv1\nconv3\n");
  put_file(&r, "model", "other");
  set(&r, "insert_op_conf", "aipp.cfg");
  put_file(&r, "insert_op_conf", "aipp_op {}");
  struct oc_key_parts now = parts_of(&r);
  ck_assert_int_eq(oc_key_compare(&then, &now, &r.arena, &d, &n), 0);
  ck_assert_uint_eq(n, 4);
  ck_assert_str_eq(d[0].name, "model");
  ck_assert_msg(oc_starts_with(sentence(&d[0], &out), "model: other content (sha256 "),
                "%s", oc_buf_str(&out));
  ck_assert_str_eq(sentence(&d[1], &out), "insert_op_conf was not given");
  ck_assert_str_eq(d[2].now, "conv3\n");
  ck_assert_str_eq(d[2].then, "conv2\n");
  ck_assert_str_eq(sentence(&d[2], &out), "keep_dtype has the line 'conv3', had 'conv2'");
  ck_assert_str_eq(sentence(&d[3], &out),
                   "soc_version is 'Ascend910B1', was 'Ascend310P3'");
  ck_assert_int_eq(oc_key_compare(&now, &then, &r.arena, &d, &n), 0);
  ck_assert_str_eq(d[n - 1].name, "insert_op_conf");
  ck_assert_str_eq(sentence(&d[n - 1], &out), "insert_op_conf is not given any more");
  oc_buf_clear(&out);
  end(&r);
}
END_TEST

START_TEST(order_and_repeats_of_lines)
{
  struct oc_key_difference *d = NULL;
  struct oc_key_parts a, b;
  struct oc_arena arena;
  size_t n = 0;

  oc_arena_init(&arena, 0);
  oc_key_parts_init(&a, &arena);
  oc_key_parts_init(&b, &arena);
  oc_key_add_content(&a, "keep_dtype", "x\ny\n", 4);
  oc_key_add_content(&b, "keep_dtype", "y\nx\n", 4);
  ck_assert_int_eq(oc_key_compare(&a, &b, &arena, &d, &n), 0);
  ck_assert_uint_eq(n, 1);
  ck_assert_msg(strstr(d[0].then, "another order") != NULL, "%s", d[0].then);
  oc_key_parts_init(&b, &arena);
  oc_key_add_content(&b, "keep_dtype", "x\nx\ny\n", 6);
  ck_assert_int_eq(oc_key_compare(&a, &b, &arena, &d, &n), 0);
  ck_assert_str_eq(d[0].now, "x\n");
  ck_assert_str_eq(d[0].then, "");
  oc_arena_clear(&arena);
}
END_TEST

START_TEST(long_contents_count_in_full)
{
  struct oc_key_difference *d = NULL;
  struct oc_key_parts a, b;
  struct oc_arena arena;
  static char text[100000];
  size_t n = 0;

  memset(text, 'x', sizeof(text));
  oc_arena_init(&arena, 0);
  oc_key_parts_init(&a, &arena);
  oc_key_parts_init(&b, &arena);
  ck_assert_int_eq(oc_key_add_content(&a, "keep_dtype", text, sizeof(text)), 0);
  text[sizeof(text) - 1] = 'y';
  ck_assert_int_eq(oc_key_add_content(&b, "keep_dtype", text, sizeof(text)), 0);
  ck_assert(!equal(&a, &b));
  ck_assert(a.items[0].cut);
  ck_assert_uint_eq(a.items[0].text_len, OC_KEY_TEXT_MAX);
  ck_assert_int_eq(oc_key_compare(&a, &b, &arena, &d, &n), 0);
  ck_assert_uint_eq(n, 1);
  oc_arena_clear(&arena);
}
END_TEST

START_TEST(packing)
{
  struct oc_key_parts back;
  struct oc_buf out;
  struct request r;

  oc_buf_init(&out, 1 << 20);
  start(&r);
  struct oc_key_parts ps = parts_of(&r);
  ck_assert_int_eq(oc_key_parts_pack(&ps, &out), 0);
  oc_key_parts_init(&back, &r.arena);
  ck_assert_int_eq(oc_key_parts_unpack(out.data, out.len, &back, NULL), 0);
  ck_assert_uint_eq(back.n, ps.n);
  ck_assert(equal(&ps, &back));
  for (size_t len = 0; len < out.len; len++) {
    struct oc_arena arena;
    struct oc_key_parts cut;
    oc_arena_init(&arena, 0);
    oc_key_parts_init(&cut, &arena);
    ck_assert_int_eq(oc_key_parts_unpack(out.data, len, &cut, NULL), OC_E_FORMAT);
    oc_arena_clear(&arena);
  }
  oc_buf_putc(&out, 'x');
  oc_key_parts_init(&back, &r.arena);
  ck_assert_int_eq(oc_key_parts_unpack(out.data, out.len, &back, NULL), OC_E_FORMAT);
  oc_buf_clear(&out);
  end(&r);
}
END_TEST

START_TEST(nearest)
{
  struct oc_key_difference *d = NULL;
  struct oc_key_blob blobs[4];
  struct oc_buf packed[3];
  struct request r;
  size_t index = 9, n = 0;

  start(&r);
  for (size_t i = 0; i < 3; i++)
    oc_buf_init(&packed[i], 1 << 20);
  struct oc_key_parts now = parts_of(&r);
  ck_assert_int_eq(oc_key_nearest(&now, NULL, 0, &r.arena, &index, &d, &n), 0);
  set(&r, "soc_version", "Ascend910B1");
  set(&r, "deterministic", "1");
  struct oc_key_parts far = parts_of(&r);
  oc_key_parts_pack(&far, &packed[0]);
  set(&r, "deterministic", "0");
  struct oc_key_parts near = parts_of(&r);
  oc_key_parts_pack(&near, &packed[1]);
  for (size_t i = 0; i < 2; i++)
    blobs[i + 1] = (struct oc_key_blob){ packed[i].data, packed[i].len };
  blobs[0] = (struct oc_key_blob){ "rubbish", 7 };
  blobs[3] = blobs[2];
  ck_assert_int_eq(oc_key_nearest(&now, blobs, 4, &r.arena, &index, &d, &n), 1);
  ck_assert_uint_eq(index, 2);
  ck_assert_uint_eq(n, 1);
  ck_assert_str_eq(d[0].name, "soc_version");
  for (size_t i = 0; i < 3; i++)
    oc_buf_clear(&packed[i]);
  end(&r);
}
END_TEST

START_TEST(short_key)
{
  uint8_t key[OC_SHA256_LEN] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd };
  char text[OC_KEY_SHORT + 1];

  oc_key_short(key, text);
  ck_assert_str_eq(text, "0123456789ab");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("key");
  TCase *t = tcase_create("key");
  SRunner *r = srunner_create(s);

  tcase_add_test(t, every_flag);
  tcase_add_test(t, fingerprint);
  tcase_add_test(t, every_default_spelled_out);
  tcase_add_test(t, every_content);
  tcase_add_test(t, every_byte_of_a_folder);
  tcase_add_test(t, digests_of_a_folder_count_in_full);
  tcase_add_test(t, backend_and_external);
  tcase_add_loop_test(t, canonical_lists, 0, (int)OC_COUNT(lists));
  tcase_add_test(t, a_list_that_cannot_be_parsed);
  tcase_add_test(t, missing_content);
  tcase_add_test(t, options_digest_leaves_the_model_out);
  tcase_add_test(t, sentences);
  tcase_add_test(t, order_and_repeats_of_lines);
  tcase_add_test(t, long_contents_count_in_full);
  tcase_add_test(t, packing);
  tcase_add_test(t, nearest);
  tcase_add_test(t, short_key);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
