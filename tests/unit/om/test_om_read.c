/* Reading: both headers, both tables, several models, compressed attributes; what is not
 * a file of this kind; and bytes that were changed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"

static struct oc_arena arena;
static struct oc_error err;
static struct oc_buf file, def, tasks, kernels;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  memset(&err, 0, sizeof err);
  struct oc_buf *all[] = { &file, &def, &tasks, &kernels };
  for (size_t i = 0; i < 4; i++)
    oc_buf_init(all[i], 1 << 20);
  make_tasks(&tasks, "te_relu_0__kernel0");
  make_kernels(&kernels, "te_relu_0__kernel0");
}

static void teardown(void)
{
  oc_buf_clear(&file);
  oc_buf_clear(&def);
  oc_buf_clear(&tasks);
  oc_buf_clear(&kernels);
  oc_arena_clear(&arena);
}

static char zeros[1024];

static void make(uint32_t n_models, unsigned flags, bool compressed)
{
  make_def(&def, &arena, "tiny", compressed);
  const struct part parts[] = { { OC_OM_MODEL_DEF, bytes_of(&def) },
                                { OC_OM_WEIGHTS, { zeros, sizeof zeros } },
                                { OC_OM_TBE_KERNELS, bytes_of(&kernels) },
                                { OC_OM_TASK_INFO, bytes_of(&tasks) } };
  make_file(&file, parts, 4, n_models, flags);
}

static struct oc_om_info *inspect(struct oc_om_source src)
{
  struct oc_om_info *info = NULL;
  int rc = oc_om_inspect(src, &arena, &info, &err);

  ck_assert_msg(rc == 0, "%s", err.msg);
  return info;
}

static void check_content(const struct oc_om_info *info)
{
  for (uint32_t i = 0; i < info->n_views; i++) {
    const struct oc_om_def *d = info->views[i].def;
    ck_assert(oc_str_is(d->name, "tiny"));
    ck_assert_uint_eq(d->graphs[0].n_ops, 4);
    const struct oc_om_op *relu = &d->graphs[0].ops[2];
    ck_assert(oc_str_is(oc_om_attr_str(relu->attrs, relu->n_attrs, "mode"), "second"));
    ck_assert_int_eq(oc_om_attr_int(relu->attrs, relu->n_attrs, "count", 0), 42);
    const struct oc_om_attr *a = oc_om_attr_find(relu->attrs, relu->n_attrs, "labels");
    ck_assert_ptr_nonnull(a);
    ck_assert_int_eq(a->kind, OC_OM_ATTR_STRINGS);
    ck_assert(oc_str_is(a->u.strings[0], "second"));
    ck_assert(oc_str_is(a->u.strings[1], "first"));
    ck_assert_int_eq(relu->output_descs[0].dtype, OC_DT_F16);
    ck_assert_int_eq(relu->output_descs[0].dims[1], 3);
    const struct oc_om_op *c = &d->graphs[0].ops[1];
    a = oc_om_attr_find(c->attrs, c->n_attrs, "value");
    ck_assert_int_eq(a->u.desc->data_offset, 512);
    ck_assert_int_eq(a->u.desc->weight_size, 12);
    ck_assert_uint_eq(info->views[i].tasks.memory_size, 4096);
  }
}

START_TEST(every_kind_of_file)
{
  static const struct {
    uint32_t n_models;
    unsigned flags;
    bool compressed;
  } kinds[] = { { 1, 0, false }, { 1, 0, true },        { 1, OLD_HEADER, false },
                { 3, 0, false }, { 1, DYNAMIC, false }, { 2, DYNAMIC, true } };

  make(kinds[_i].n_models, kinds[_i].flags, kinds[_i].compressed);
  struct oc_om_info *info = inspect(oc_om_source_bytes(file.data, file.len));
  ck_assert_uint_eq(info->n_views, kinds[_i].n_models);
  ck_assert_str_eq(info->file->header.name, "tiny");
  ck_assert_str_eq(info->file->header.platform_version,
                   kinds[_i].flags == OLD_HEADER ? "1.0.y.0" : "1.11.z.0");
  ck_assert(info->file->wide_table == (kinds[_i].flags != OLD_HEADER));
  check_content(info);
  ck_assert(info->device_ready);
  ck_assert(!info->builtin);
}
END_TEST

START_TEST(a_descriptor_reads_like_bytes)
{
  struct oc_om_source src;
  int fd = memfd_create("om", MFD_CLOEXEC);

  make(1, 0, true);
  ck_assert_int_eq(write(fd, file.data, file.len), (ssize_t)file.len);
  ck_assert_int_eq(oc_om_source_fd(fd, &src, &err), 0);
  check_content(inspect(src));
  close(fd);
}
END_TEST

START_TEST(sub_models_use_the_root_dictionary)
{
  struct oc_buf sub;
  struct oc_om_def *root = NULL, *d = NULL;

  oc_buf_init(&sub, 1 << 20);
  make_def(&def, &arena, "tiny", true);
  make_def(&sub, &arena, "part", true);
  ck_assert_int_eq(oc_om_read_def(bytes_of(&def), NULL, &arena, &root, &err), 0);
  /* the sub-model's own dictionary is taken away: its keys need the root's */
  for (size_t i = 0; i + 19 < sub.len; i++)
    if (memcmp(sub.data + i, "om_compress_version", 19) == 0)
      sub.data[i] = 'x';
  ck_assert_int_eq(oc_om_read_def(bytes_of(&sub), root, &arena, &d, &err), 0);
  const struct oc_om_op *relu = &d->graphs[0].ops[2];
  ck_assert(oc_str_is(oc_om_attr_str(relu->attrs, relu->n_attrs, "mode"), "second"));
  ck_assert_int_eq(oc_om_read_def(bytes_of(&sub), NULL, &arena, &d, &err), OC_E_FORMAT);
  oc_buf_clear(&sub);
}
END_TEST

START_TEST(absent_kernels_are_not_ready)
{
  oc_buf_reset(&tasks);
  make_tasks(&tasks, _i ? OC_OM_NO_KERNEL "__Relu" : "te_other_0__kernel0");
  make(1, 0, false);
  struct oc_om_info *info = inspect(oc_om_source_bytes(file.data, file.len));
  ck_assert_uint_eq(info->views[0].tasks.n_kernels, 1);
  ck_assert_uint_eq(info->views[0].tasks.n_absent, 1);
  ck_assert(!info->device_ready);
}
END_TEST

static void refuse(size_t len, const char *why)
{
  struct oc_om_info *info = NULL;

  ck_assert_int_eq(oc_om_inspect(oc_om_source_bytes(file.data, len), &arena, &info, &err),
                   OC_E_FORMAT);
  ck_assert_ptr_null(info);
  ck_assert_msg(strstr(err.msg, why) != NULL, "'%s' does not say '%s'", err.msg, why);
}

START_TEST(what_is_no_file_of_this_kind)
{
  make(1, 0, false);
  refuse(0, "0 bytes");
  refuse(255, "255 bytes");
  refuse(file.len - 1, "bytes follow it");
  file.data[0] = 'P';
  refuse(file.len, "IMOD");
  file.data[0] = 'I';
  file.data[80] = 1;
  refuse(file.len, "encrypted");
  file.data[80] = 0;
  file.data[256] = 9;
  refuse(file.len, "lists 9 partitions");
  file.data[256] = 0;
  refuse(file.len, "lists 0 partitions");
  file.data[256] = 4;
  file.data[256 + 8 + 16 + 7] = 0xff; /* size of the first partition: huge */
  refuse(file.len, "inside the file");
  file.data[256 + 8 + 16 + 7] = 0;
  file.data[256 + 8 + 16] += 1;
  refuse(file.len, "inside the file");
}
END_TEST

START_TEST(truncated_files_are_errors)
{
  make(_i, _i > 1 ? DYNAMIC : 0, true);
  for (size_t len = 0; len < file.len; len += 5) {
    struct oc_om_info *info = NULL;
    /* the header agrees with the length, so that the reader goes as far as it can */
    struct oc_buf cut;
    oc_buf_init(&cut, 1 << 20);
    oc_buf_append(&cut, file.data, len);
    if (len > 256)
      for (int i = 0; i < 8; i++)
        cut.data[184 + i] = (uint8_t)((len - 256) >> (8 * i));
    int rc = oc_om_inspect(oc_om_source_bytes(cut.data, cut.len), &arena, &info, &err);
    ck_assert_int_lt(rc, 0);
    ck_assert_uint_ne(strlen(err.msg), 0);
    oc_buf_clear(&cut);
  }
}
END_TEST

/* Whatever the bytes are: an error with a sentence, or a result; never a fault. */
START_TEST(changed_bytes_do_no_harm)
{
  uint32_t seed = 1 + (uint32_t)_i;

  make(2, DYNAMIC, true);
  uint8_t *copy = malloc(file.len);
  for (int round = 0; round < 3000; round++) {
    struct oc_arena a;
    struct oc_om_info *info = NULL;
    oc_arena_init(&a, 64u << 20);
    memcpy(copy, file.data, file.len);
    for (int k = 0; k < 3; k++) {
      seed = seed * 1664525u + 1013904223u;
      copy[(seed >> 8) % file.len] = (uint8_t)(seed >> 3);
    }
    memset(&err, 0, sizeof err);
    int rc = oc_om_inspect(oc_om_source_bytes(copy, file.len), &a, &info, &err);
    if (rc == 0 ? info == NULL : err.msg[0] == '\0')
      ck_abort_msg("round %d: neither a result nor a reason", round);
    oc_arena_clear(&a);
  }
  free(copy);
}
END_TEST

START_TEST(memory_is_bounded_by_the_bytes)
{
  struct oc_arena a;
  struct oc_om_def *d = NULL;
  struct oc_buf graph, model;

  /* empty ops: two bytes each in the file, hundreds as structures */
  oc_buf_init(&graph, 16u << 20);
  oc_buf_init(&model, 16u << 20);
  for (int i = 0; i < 1000000; i++)
    oc_buf_append(&graph, "\x32\x00", 2);
  oc_buf_append(&model, "\x3a\x80\x89\x7a", 4); /* field 7, 2000000 bytes */
  oc_buf_append(&model, graph.data, graph.len);
  oc_arena_init(&a, 0);
  ck_assert_int_eq(oc_om_read_def(bytes_of(&model), NULL, &a, &d, &err), OC_E_NOMEM);
  ck_assert_uint_lt(a.used, 128u << 20);
  oc_arena_clear(&a);
  oc_buf_clear(&graph);
  oc_buf_clear(&model);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("om read");
  TCase *t = tcase_create("files");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, every_kind_of_file, 0, 6);
  tcase_add_test(t, a_descriptor_reads_like_bytes);
  tcase_add_test(t, sub_models_use_the_root_dictionary);
  tcase_add_loop_test(t, absent_kernels_are_not_ready, 0, 2);
  tcase_add_test(t, what_is_no_file_of_this_kind);
  tcase_add_loop_test(t, truncated_files_are_errors, 1, 3);
  tcase_add_loop_test(t, changed_bytes_do_no_harm, 0, 2);
  tcase_add_test(t, memory_is_bounded_by_the_bytes);
  tcase_set_timeout(t, 120);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
