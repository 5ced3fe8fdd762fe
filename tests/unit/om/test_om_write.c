/* Writing: the front part, MODEL_INOUT_INFO, MODEL_DEF there and back, other names. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

static struct oc_arena arena;
static struct oc_error err;

static void setup(void)
{
  oc_arena_init(&arena, 0);
  memset(&err, 0, sizeof err);
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

START_TEST(front_part)
{
  struct oc_buf out;
  struct oc_om_file *f = NULL;
  struct oc_om_front front = { .name = "a name of more than thirty-one b\xc3\xbctes",
                               .platform = "omcc 1",
                               .user_info = OC_OM_MARK,
                               .is_unknown_model = true,
                               .n_parts = 2,
                               .parts = { { .type = OC_OM_MODEL_DEF, .size = 3 },
                                          { .type = OC_OM_WEIGHTS, .size = 5 } } };

  oc_buf_init(&out, 4096);
  ck_assert_int_eq(oc_om_write_front(&front, &out), 0);
  ck_assert_uint_eq(out.len, oc_om_front_size(&front));
  oc_buf_append(&out, "abcdefgh", 8);
  ck_assert_uint_eq(oc_om_total_size(&front), out.len);
  ck_assert_int_eq(oc_om_open(oc_om_source_bytes(out.data, out.len), &arena, &f, &err),
                   0);
  ck_assert_uint_eq(f->models[0].parts[1].at, front.parts[1].at);
  ck_assert_uint_eq(f->models[0].parts[1].size, 5);
  ck_assert_uint_eq(f->header.is_unknown_model, 1);
  ck_assert_str_eq(f->header.name, "a name of more than thirty-one ");
  ck_assert_str_eq(f->header.userdefineinfo, OC_OM_MARK);
  oc_buf_clear(&out);
}
END_TEST

START_TEST(labels)
{
  static const struct {
    const char *path, *label;
  } rows[] = {
    { "out/m", "m" },
    { "m.om", "m" },
    { "/a/b.c/net.v2.om", "net.v2" },
    { ".om", ".om" },
    { "0123456789012345678901234567890123", "0123456789012345678901234567890" },
    { "012345678901234567890123456789\xe6\xa8\xa1", "012345678901234567890123456789" }
  };
  char label[OC_OM_NAME_SIZE];

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    oc_om_label_of(rows[i].path, label);
    ck_assert_str_eq(label, rows[i].label);
  }
}
END_TEST

START_TEST(inout_there_and_back)
{
  const int64_t dims[] = { -1, 3, 224, 224 };
  const struct oc_om_io in[] = {
    { .name = "x", .dtype = OC_DT_BF16, .format = 0, .dims = dims, .rank = 4 },
    { .name = "scalar", .dtype = OC_DT_I64, .format = 2, .bytes = 8 }
  };
  const struct oc_om_io out[] = { { .name = "a:0:y",
                                    .dtype = OC_DT_F32,
                                    .format = 2,
                                    .bytes = 12,
                                    .dims = dims + 1,
                                    .rank = 1 } };
  struct oc_om_io *i2 = NULL, *o2 = NULL;
  size_t n = 0, m = 0;
  struct oc_buf b;

  oc_buf_init(&b, 4096);
  ck_assert_int_eq(oc_om_write_inout(&b, in, 2, out, 1), 0);
  ck_assert_int_eq(oc_om_read_inout(bytes_of(&b), &arena, &i2, &n, &o2, &m, &err), 0);
  ck_assert_uint_eq(n, 2);
  ck_assert_uint_eq(m, 1);
  ck_assert_int_eq(i2[0].dtype, OC_DT_BF16);
  ck_assert_int_eq(i2[0].dims[0], -1);
  ck_assert_int_eq(i2[0].dims[3], 224);
  ck_assert_str_eq(i2[1].name, "scalar");
  ck_assert_uint_eq(i2[1].rank, 0);
  ck_assert_uint_eq(o2[0].bytes, 12);
  for (size_t len = 1; len < b.len; len++)
    if (len != 8 + 4 + 2 * 32 + 7 + 64) /* the end of the first record */
      ck_assert_int_lt(oc_om_read_inout((struct oc_str){ (char *)b.data, len }, &arena,
                                        &i2, &n, &o2, &m, &err),
                       0);
  oc_buf_clear(&b);
}
END_TEST

START_TEST(definition_there_and_back_is_equal)
{
  struct oc_buf a, b;
  struct oc_om_def *d = NULL;

  oc_buf_init(&a, 1 << 20);
  oc_buf_init(&b, 1 << 20);
  make_def(&a, &arena, "tiny", false);
  ck_assert_int_eq(oc_om_read_def(bytes_of(&a), NULL, &arena, &d, &err), 0);
  ck_assert_int_eq(oc_om_write_def(d, &b), 0);
  ck_assert_uint_eq(a.len, b.len);
  ck_assert_int_eq(memcmp(a.data, b.data, a.len), 0);
  oc_buf_clear(&a);
  oc_buf_clear(&b);
}
END_TEST

START_TEST(writer_keeps_its_cap)
{
  struct oc_buf a;

  oc_buf_init(&a, 100);
  make_def(&a, &arena, "tiny", false);
  ck_assert(a.failed);
  ck_assert_uint_eq(a.len, 0);
}
END_TEST

static char weights[3000];

static void make(struct oc_buf *file, unsigned flags, uint32_t n_models)
{
  struct oc_buf def, tasks;

  oc_buf_init(&def, 1 << 20);
  oc_buf_init(&tasks, 1 << 20);
  make_def(&def, &arena, "tiny", flags & DYNAMIC);
  make_tasks(&tasks, "k");
  for (size_t i = 0; i < sizeof weights; i++)
    weights[i] = (char)(i * 7);
  const struct part parts[] = { { OC_OM_WEIGHTS, { weights, sizeof weights } },
                                { OC_OM_MODEL_DEF, bytes_of(&def) },
                                { OC_OM_TASK_INFO, bytes_of(&tasks) } };
  make_file(file, parts, 3, n_models, flags);
  oc_buf_clear(&def);
  oc_buf_clear(&tasks);
}

static struct oc_om_info *relabel(struct oc_om_source in, const char *label,
                                  const char *cmdline)
{
  struct oc_om_source src;
  struct oc_om_info *info = NULL;
  int fd = memfd_create("out", MFD_CLOEXEC);
  int rc = oc_om_relabel(in, fd, label, cmdline, &err);

  ck_assert_msg(rc == 0, "%s", err.msg);
  ck_assert_int_eq(oc_om_source_fd(fd, &src, &err), 0);
  char *copy = oc_arena_alloc(&arena, (size_t)src.size);
  ck_assert_int_eq(oc_om_source_read(&src, 0, copy, (size_t)src.size, &err), 0);
  close(fd);
  rc = oc_om_inspect(oc_om_source_bytes(copy, (size_t)src.size), &arena, &info, &err);
  ck_assert_msg(rc == 0, "%s", err.msg);
  return info;
}

START_TEST(relabel_changes_four_places)
{
  static const struct {
    unsigned flags;
    uint32_t n_models;
  } kinds[] = { { 0, 1 }, { OLD_HEADER, 1 }, { DYNAMIC, 2 } };
  static const char *const names[] = { "x",
                                       "a_much_longer_name_than_before_of_40_bytes" };
  struct oc_buf file;
  const char *name = names[_i % 2];
  char short_name[OC_OM_NAME_SIZE];

  oc_buf_init(&file, 1 << 20);
  make(&file, kinds[_i / 2].flags, kinds[_i / 2].n_models);
  struct oc_om_info *info = relabel(oc_om_source_bytes(file.data, file.len), name, NULL);
  const struct oc_om_def *d = info->views[0].def;
  oc_om_label_of(name, short_name);
  ck_assert_str_eq(info->file->header.name, short_name);
  ck_assert(oc_str_is(d->name, name));
  ck_assert(oc_str_is(d->graphs[0].name, oc_arena_printf(&arena, "%s_0", name)));
  const char *line = oc_arena_printf(
      &arena, "/usr/bin/atc --model=a.onnx --output=%s --log=error", name);
  ck_assert(oc_str_is(oc_om_attr_str(d->attrs, d->n_attrs, "atc_cmdline"), line));
  const struct oc_om_part *w = oc_om_find_part(&info->file->models[0], OC_OM_WEIGHTS);
  ck_assert_int_eq(memcmp(info->file->source.data + w->at, weights, sizeof weights), 0);
  ck_assert_uint_eq(info->n_views, kinds[_i / 2].n_models);
  oc_buf_clear(&file);
}
END_TEST

START_TEST(relabel_back_gives_the_same_bytes)
{
  struct oc_buf file;

  oc_buf_init(&file, 1 << 20);
  make(&file, 0, 1);
  struct oc_om_info *there =
      relabel(oc_om_source_bytes(file.data, file.len), "other", NULL);
  struct oc_om_info *back =
      relabel(there->file->source, "tiny",
              "/usr/bin/atc --model=a.onnx --output=dir/tiny --log=error");
  ck_assert_uint_eq(back->file->source.size, file.len);
  ck_assert_int_eq(memcmp(back->file->source.data, file.data, file.len), 0);
  oc_buf_clear(&file);
}
END_TEST

START_TEST(relabel_from_a_descriptor)
{
  struct oc_buf file;
  struct oc_om_source src;
  int fd = memfd_create("in", MFD_CLOEXEC);

  oc_buf_init(&file, 1 << 20);
  make(&file, 0, 1);
  ck_assert_int_eq(write(fd, file.data, file.len), (ssize_t)file.len);
  ck_assert_int_eq(oc_om_source_fd(fd, &src, &err), 0);
  struct oc_om_info *info = relabel(src, "from_fd", NULL);
  ck_assert(oc_str_is(info->views[0].def->name, "from_fd"));
  const struct oc_om_part *w = oc_om_find_part(&info->file->models[0], OC_OM_WEIGHTS);
  ck_assert_int_eq(memcmp(info->file->source.data + w->at, weights, sizeof weights), 0);
  close(fd);
  oc_buf_clear(&file);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("om write");
  TCase *t = tcase_create("files");

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, front_part);
  tcase_add_test(t, labels);
  tcase_add_test(t, inout_there_and_back);
  tcase_add_test(t, definition_there_and_back_is_equal);
  tcase_add_test(t, writer_keeps_its_cap);
  tcase_add_loop_test(t, relabel_changes_four_places, 0, 6);
  tcase_add_test(t, relabel_back_gives_the_same_bytes);
  tcase_add_test(t, relabel_from_a_descriptor);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
