/* Walking folders: what is listed, in which order, what is refused and why; limits; whose
 * rights count; what counts as a change. */
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
#include "folder/folder.h"

static char root[64];
static int dir = -1;
static const struct oc_folder_limits usual = { 100, 4, 1 << 20, -1 };

static void make_root(void)
{
  snprintf(root, sizeof(root), "/tmp/omcc-folder-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
  dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ck_assert_int_ge(dir, 0);
}

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *at)
{
  (void)st;
  (void)what;
  (void)at;
  return remove(path);
}

static void remove_root(void)
{
  close(dir);
  nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text)
{
  auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void fill(void)
{
  ck_assert_int_eq(mkdirat(dir, "sub", 0755), 0);
  ck_assert_int_eq(mkdirat(dir, "sub/deep", 0755), 0);
  ck_assert_int_eq(mkdirat(dir, "empty", 0755), 0);
  put("b", "b");
  put("a", "aa");
  put("sub/c", "ccc");
  put("sub/deep/d", "");
  put("sub-1", "x");
}

/* "a b sub/ ..." */
static void list(const struct oc_folder *f, char *to, size_t size)
{
  size_t at = 0;

  to[0] = '\0';
  for (size_t i = 0; i < f->n; i++)
    at += (size_t)snprintf(to + at, size - at, "%s%s ", f->entries[i].name,
                           f->entries[i].folder ? "/" : "");
}

START_TEST(all_of_it_in_order)
{
  struct oc_folder f;
  char names[200];

  fill();
  ck_assert_int_eq(oc_folder_walk(dir, &usual, &f, NULL), 0);
  list(&f, names, sizeof(names));
  ck_assert_str_eq(names, "a b empty/ sub/ sub-1 sub/c sub/deep/ sub/deep/d ");
  ck_assert_uint_eq(f.bytes, 7);
  ck_assert_int_eq(f.entries[0].st.st_size, 2);
  oc_folder_clear(&f);
  oc_folder_clear(&f);
}
END_TEST

/* A descriptor's own offset and the caller's other uses of it do not matter. */
START_TEST(again_and_again)
{
  struct oc_folder a, b;
  const char *name;

  fill();
  ck_assert_int_eq(oc_folder_walk(dir, &usual, &a, NULL), 0);
  ck_assert_int_eq(oc_folder_walk(dir, &usual, &b, NULL), 0);
  ck_assert_uint_eq(a.n, 8);
  ck_assert(oc_folder_same(&a, &b, &name));
  oc_folder_clear(&a);
  oc_folder_clear(&b);
}
END_TEST

static void link_outside(void)
{
  ck_assert_int_eq(symlinkat("/etc/passwd", dir, "x"), 0);
}
static void link_up(void)
{
  ck_assert_int_eq(symlinkat("../../../etc/passwd", dir, "sub/x"), 0);
}
static void link_to_folder(void)
{
  ck_assert_int_eq(symlinkat("deep", dir, "sub/x"), 0);
}
static void link_to_itself(void)
{
  ck_assert_int_eq(symlinkat("x", dir, "x"), 0);
}
static void pipe_inside(void)
{
  ck_assert_int_eq(mkfifoat(dir, "x", 0600), 0);
}
static void too_deep(void)
{
  ck_assert_int_eq(mkdirat(dir, "sub/deep/1", 0755), 0);
  ck_assert_int_eq(mkdirat(dir, "sub/deep/1/2", 0755), 0);
}
static void too_many(void)
{
  char name[16];

  for (int i = 0; i < 93; i++) {
    snprintf(name, sizeof(name), "n%d", i);
    put(name, "");
  }
}
static void too_large(void)
{
  auto_close int fd = openat(dir, "x", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

  ck_assert_int_eq(ftruncate(fd, (1 << 20) - 6), 0);
}
static void control(void)
{
  put("sub/a\nb", "");
}

static const struct {
  void (*spoil)(void);
  int code;
  const char *text;
} refusals[] = {
  { link_outside, OC_E_ARG, "'x' leads out of it" },
  { link_up, OC_E_ARG, "'sub/x' leads out of it" },
  { link_to_folder, OC_E_ARG, "'sub/x' is a link to a folder" },
  { link_to_itself, OC_E_ARG, "'x' is a link that cannot be followed" },
  { pipe_inside, OC_E_ARG, "'x' is neither file nor folder" },
  { too_deep, OC_E_LIMIT, "'sub/deep/1/2' lies deeper than 4 folders" },
  { too_many, OC_E_LIMIT, "it holds more than 100 files" },
  { too_large, OC_E_LIMIT, "it holds more than 1 MiB" },
  { control, OC_E_ARG, "'sub' holds a name with control characters" },
};

START_TEST(refused)
{
  struct oc_error err = { 0 };
  struct oc_folder f;

  fill();
  refusals[_i].spoil();
  ck_assert_msg(oc_folder_walk(dir, &usual, &f, &err) == refusals[_i].code, "%s: %s",
                refusals[_i].text, err.msg);
  ck_assert_str_eq(err.msg, refusals[_i].text);
  ck_assert_uint_eq(f.n, 0);
}
END_TEST

START_TEST(just_within)
{
  struct oc_folder_limits exact = { 8, 3, 7, -1 };
  struct oc_folder f;

  fill();
  ck_assert_int_eq(oc_folder_walk(dir, &exact, &f, NULL), 0);
  oc_folder_clear(&f);
  exact.entries--;
  ck_assert_int_eq(oc_folder_walk(dir, &exact, &f, NULL), OC_E_LIMIT);
  exact.entries++;
  exact.depth--;
  ck_assert_int_eq(oc_folder_walk(dir, &exact, &f, NULL), OC_E_LIMIT);
  exact.depth++;
  exact.bytes--;
  ck_assert_int_eq(oc_folder_walk(dir, &exact, &f, NULL), OC_E_LIMIT);
}
END_TEST

/* A link to a file beside it is that file. */
START_TEST(link_inside)
{
  struct oc_folder f;

  fill();
  ck_assert_int_eq(symlinkat("../a", dir, "sub/x"), 0);
  ck_assert_int_eq(oc_folder_walk(dir, &usual, &f, NULL), 0);
  ck_assert_uint_eq(f.n, 9);
  ck_assert_str_eq(f.entries[8].name, "sub/x");
  ck_assert_int_eq(f.entries[8].st.st_size, 2);
  auto_close int fd = oc_folder_open(dir, "sub/x");
  ck_assert_int_ge(fd, 0);
  oc_folder_clear(&f);
}
END_TEST

/* The daemon may read more than whoever asks it. */
START_TEST(whose_rights)
{
  struct oc_folder_limits other = usual;
  struct oc_error err = { 0 };
  struct oc_folder f;

  fill();
  other.reader = (int64_t)geteuid() + 4711;
  ck_assert_int_eq(fchmod(dir, 0755), 0);
  ck_assert_int_eq(oc_folder_walk(dir, &other, &f, &err), 0);
  oc_folder_clear(&f);
  ck_assert_int_eq(fchmodat(dir, "sub/c", 0640, 0), 0);
  ck_assert_int_eq(oc_folder_walk(dir, &other, &f, &err), OC_E_ARG);
  ck_assert_str_eq(err.msg, "'sub/c' may not be read by everybody");
  ck_assert_int_eq(fchmodat(dir, "sub/c", 0644, 0), 0);
  ck_assert_int_eq(fchmodat(dir, "sub", 0754, 0), 0);
  ck_assert_int_eq(oc_folder_walk(dir, &other, &f, &err), OC_E_ARG);
  ck_assert_str_eq(err.msg, "'sub' may not be read by everybody");
}
END_TEST

static void touch(void)
{
  struct timespec t[2] = { { 0 }, { .tv_sec = 1 } };

  ck_assert_int_eq(utimensat(dir, "sub/c", t, 0), 0);
}
static void add(void)
{
  put("aa", "");
}
static void drop(void)
{
  ck_assert_int_eq(unlinkat(dir, "sub/deep/d", 0), 0);
}
static void change_kind(void)
{
  ck_assert_int_eq(unlinkat(dir, "b", 0), 0);
  ck_assert_int_eq(mkdirat(dir, "b", 0755), 0);
}

static const struct {
  void (*change)(void);
  const char *name;
} changes[] = {
  { touch, "sub/c" }, { add, "aa" }, { drop, "sub/deep/d" }, { change_kind, "b" }
};

START_TEST(changed)
{
  struct oc_folder then, now;
  const char *name = NULL;

  fill();
  ck_assert_int_eq(oc_folder_walk(dir, &usual, &then, NULL), 0);
  changes[_i].change();
  ck_assert_int_eq(oc_folder_walk(dir, &usual, &now, NULL), 0);
  ck_assert(!oc_folder_same(&then, &now, &name));
  ck_assert_str_eq(name, changes[_i].name);
  oc_folder_clear(&then);
  oc_folder_clear(&now);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("folder");
  TCase *t = tcase_create("all");

  tcase_add_checked_fixture(t, make_root, remove_root);
  tcase_add_test(t, all_of_it_in_order);
  tcase_add_test(t, again_and_again);
  tcase_add_loop_test(t, refused, 0, sizeof(refusals) / sizeof(refusals[0]));
  tcase_add_test(t, just_within);
  tcase_add_test(t, link_inside);
  tcase_add_test(t, whose_rights);
  tcase_add_loop_test(t, changed, 0, sizeof(changes) / sizeof(changes[0]));
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
