/* Finding a toolkit, and what of it a key must know. */
#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "toolkit/toolkit.h"

static char dir[64];

static void put(const char *name, const char *text)
{
  char path[256];

  snprintf(path, sizeof(path), "%s/%s", dir, name);
  for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash;
       slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
}

static void setup(void)
{
  snprintf(dir, sizeof(dir), "/tmp/omcc-toolkit-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(dir));
  put("bin/atc", "#!/bin/sh\n");
  put("bin/atc.bin", "program");
  put("compiler/version.info", "Version=8.1.RC1\nversion_dir=8.1\n");
  put("opp/version.info", "Version=8.1.RC1\n");
  put("opp/built-in/op_impl/ai_core/tbe/config/ascend310p/aic.json", "{}");
  put("opp/vendors/mine/op_impl/a.json", "{}");
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
  (void)st;
  (void)flag;
  (void)ftw;
  return remove(path);
}

static void teardown(void)
{
  nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct oc_toolkit find(char *const *environment)
{
  struct oc_toolkit_options o = { .dir = dir, .environ_ = environment };
  struct oc_toolkit t = { 0 };
  struct oc_error err = { 0 };

  ck_assert_msg(oc_toolkit_find(&o, &t, &err) == 1, "%s", err.msg);
  return t;
}

/* The parts that differ, as "a b". */
static const char *difference(const struct oc_toolkit *a, const struct oc_toolkit *b)
{
  static char names[256];

  names[0] = '\0';
  ck_assert_uint_eq(a->n_identity, b->n_identity);
  for (size_t i = 0; i < a->n_identity; i++) {
    ck_assert_str_eq(a->identity[i].name, b->identity[i].name);
    if (strcmp(a->identity[i].value, b->identity[i].value) != 0)
      snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
               *names ? " " : "", a->identity[i].name);
  }
  return names;
}

START_TEST(found_by_directory_or_variable)
{
  char variable[128];
  char *with[] = { variable, NULL }, *without[] = { (char *)"X=1", NULL };
  struct oc_toolkit_options o = { .dir = "", .environ_ = without };
  struct oc_toolkit t = { 0 };
  struct oc_error err = { 0 };

  ck_assert_int_eq(oc_toolkit_find(&o, &t, &err), 0);
  ck_assert_msg(strstr(err.msg, "ASCEND_HOME_PATH") != NULL, "%s", err.msg);
  snprintf(variable, sizeof(variable), "ASCEND_HOME_PATH=%s", dir);
  o.environ_ = with;
  ck_assert_int_eq(oc_toolkit_find(&o, &t, &err), 1);
  ck_assert_str_eq(t.version, "8.1.RC1");
  ck_assert_str_eq(t.dir, dir);
  ck_assert(oc_ends_with(t.atc, "/bin/atc"));
  oc_toolkit_clear(&t);
  oc_toolkit_clear(&t);
  o.dir = "/no/such/toolkit"; /* what is configured is not replaced by what is around */
  ck_assert_int_eq(oc_toolkit_find(&o, &t, &err), OC_E_ARG);
}
END_TEST

START_TEST(incomplete_installations)
{
  struct oc_toolkit_options o = { .dir = dir };
  struct oc_toolkit t = { 0 };
  struct oc_error err = { 0 };
  char path[128], to[160];

  snprintf(path, sizeof(path), "%s/opp/built-in", dir);
  snprintf(to, sizeof(to), "%s/opp/moved", dir);
  ck_assert_int_eq(rename(path, to), 0);
  ck_assert_int_eq(oc_toolkit_find(&o, &t, &err), OC_E_ARG);
  ck_assert_msg(strstr(err.msg, "opp/built-in") != NULL, "%s", err.msg);
  rename(to, path);
  snprintf(path, sizeof(path), "%s/bin/atc", dir);
  ck_assert_int_eq(chmod(path, 0600), 0);
  int rc = oc_toolkit_find(&o, &t, &err);
  ck_assert_int_eq(rc, OC_E_ARG);
  ck_assert_msg(strstr(err.msg, "bin/atc") != NULL, "%s", err.msg);
  ck_assert_int_eq(unlink(path), 0);
  put("compiler/bin/atc", "#!/bin/sh\n"); /* the other usual place */
  ck_assert_int_eq(oc_toolkit_find(&o, &t, &err), 1);
  oc_toolkit_clear(&t);
}
END_TEST

static const struct {
  const char *file, *part;
} changes[] = {
  { "compiler/version.info", "toolkit" },
  { "bin/atc.bin", "compiler" },
  { "opp/version.info", "opp" },
  { "opp/built-in/op_impl/ai_core/tbe/config/ascend310p/aic.json", "op_tables" },
  { "opp/built-in/op_impl/ai_core/tbe/config/ascend910b/new.json", "op_tables" },
  { "opp/vendors/mine/op_impl/a.json", "custom_ops" },
  { "opp/vendors/other/new.json", "custom_ops" },
};

START_TEST(every_change_names_its_part)
{
  struct oc_toolkit before = find(NULL), again = find(NULL);

  ck_assert_str_eq(difference(&before, &again), "");
  put(changes[_i].file, "something else");
  struct oc_toolkit after = find(NULL);
  ck_assert_str_eq(difference(&before, &after), changes[_i].part);
  oc_toolkit_clear(&before);
  oc_toolkit_clear(&again);
  oc_toolkit_clear(&after);
}
END_TEST

START_TEST(a_touched_custom_op)
{
  struct timespec later[2] = { { .tv_sec = 2000000000 }, { .tv_sec = 2000000000 } };
  struct oc_toolkit before = find(NULL);
  char path[160];

  snprintf(path, sizeof(path), "%s/opp/vendors/mine/op_impl/a.json", dir);
  ck_assert_int_eq(utimensat(AT_FDCWD, path, later, 0), 0);
  struct oc_toolkit after = find(NULL);
  ck_assert_str_eq(difference(&before, &after), "custom_ops");
  oc_toolkit_clear(&before);
  oc_toolkit_clear(&after);
}
END_TEST

START_TEST(variables)
{
  char custom[160];
  char *plain[] = { (char *)"PATH=/nowhere", NULL };
  char *more[] = { (char *)"PATH=/nowhere", (char *)"OP_NO_REUSE_MEM=1",
                   (char *)"SECRET=x", (char *)"TE_PARALLEL_COMPILER=4", NULL };
  char *faster[] = { (char *)"PATH=/nowhere", (char *)"TE_PARALLEL_COMPILER=8", NULL };
  char *ops[] = { (char *)"PATH=/nowhere", custom, NULL };
  struct oc_toolkit a = find(plain), b = find(more), c = find(faster);

  ck_assert_str_eq(difference(&a, &b), "environment");
  ck_assert_str_eq(difference(&a, &c), "");
  ck_assert_uint_eq(b.n_env, 3); /* the listed ones alone */
  for (size_t i = 0; i < b.n_env; i++)
    ck_assert_str_ne(b.env[i].name, "SECRET");
  snprintf(custom, sizeof(custom), "ASCEND_CUSTOM_OPP_PATH=%s/bin:/no/such", dir);
  struct oc_toolkit d = find(ops);
  ck_assert_str_eq(difference(&a, &d), "custom_ops environment");
  oc_toolkit_clear(&a);
  oc_toolkit_clear(&b);
  oc_toolkit_clear(&c);
  oc_toolkit_clear(&d);
}
END_TEST

START_TEST(python_is_a_part)
{
  char path[128];
  char *with[] = { path, NULL }, *without[] = { (char *)"PATH=/nowhere", NULL };
  struct oc_toolkit a = find(without);

  put("py/python3", "#!/bin/sh\n");
  snprintf(path, sizeof(path), "PATH=/nowhere:%s/py", dir);
  struct oc_toolkit b = find(with);
  ck_assert_str_eq(difference(&a, &b), "python");
  oc_toolkit_clear(&a);
  oc_toolkit_clear(&b);
}
END_TEST

START_TEST(circles_end)
{
  struct oc_toolkit_options o = { .dir = dir };
  struct oc_toolkit t = { 0 };
  struct oc_error err = { 0 };
  char path[160];

  snprintf(path, sizeof(path), "%s/opp/vendors/circle", dir);
  ck_assert_int_eq(symlink("..", path), 0);
  ck_assert_int_eq(oc_toolkit_find(&o, &t, &err), OC_E_LIMIT);
}
END_TEST

START_TEST(the_stand_in_is_a_toolkit)
{
  const char *build = getenv("OMCC_BINARY_DIR");
  char path[512];
  struct oc_toolkit_options o = { .dir = path };
  struct oc_toolkit t = { 0 };
  struct oc_error err = { 0 };

  ck_assert_ptr_nonnull(build);
  snprintf(path, sizeof(path), "%s/fake-atc", build);
  ck_assert_msg(oc_toolkit_find(&o, &t, &err) == 1, "%s", err.msg);
  ck_assert_str_eq(t.version, "8.1.RC1.fake");
  oc_toolkit_clear(&t);
}
END_TEST

START_TEST(op_files_are_named)
{
  char path[160];
  snprintf(path, sizeof(path), "ASCEND_CUSTOM_OPP_PATH=%s/c1:%s/c2", dir, dir);
  char *environment[] = { path, NULL };
  static const char *const names[] = {
    "toolkit/ascend310p/aic-ascend310p-ops-info-b.json",
    "toolkit/ascend310p/aic-ascend310p-ops-info.json",
    "custom/mine/ascend310p/aic-ascend310p-ops-info.json",
    "custom/c2/ascend910b/aic-ascend910b-ops-info.json",
    "custom/c1/ascend910b/aic-ascend910b-ops-info.json",
  };

  put("opp/built-in/op_impl/ai_core/tbe/config/ascend310p/aic-ascend310p-ops-info.json",
      "{}");
  put("opp/built-in/op_impl/ai_core/tbe/config/ascend310p/aic-ascend310p-ops-info-b.json",
      "{}");
  put("opp/built-in/op_impl/ai_core/tbe/config/ascend310p/notes.txt", "");
  put("opp/vendors/mine/op_impl/ai_core/tbe/config/ascend310p/"
      "aic-ascend310p-ops-info.json",
      "{}");
  put("c1/op_impl/ai_core/tbe/config/ascend910b/aic-ascend910b-ops-info.json", "{}");
  put("c2/op_impl/ai_core/tbe/config/ascend910b/aic-ascend910b-ops-info.json", "{}");
  struct oc_toolkit t = find(environment);
  ck_assert_uint_eq(t.n_tables, 5);
  for (size_t i = 0; i < 5; i++) {
    ck_assert_str_eq(t.tables[i].name, names[i]);
    ck_assert_int_eq(access(t.tables[i].value, R_OK), 0);
  }
  oc_toolkit_clear(&t);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("toolkit");
  TCase *t = tcase_create("toolkit");
  SRunner *r = srunner_create(s);

  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, found_by_directory_or_variable);
  tcase_add_test(t, incomplete_installations);
  tcase_add_loop_test(t, every_change_names_its_part, 0, (int)OC_COUNT(changes));
  tcase_add_test(t, a_touched_custom_op);
  tcase_add_test(t, variables);
  tcase_add_test(t, python_is_a_part);
  tcase_add_test(t, circles_end);
  tcase_add_test(t, op_files_are_named);
  tcase_add_test(t, the_stand_in_is_a_toolkit);
  suite_add_tcase(s, t);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
