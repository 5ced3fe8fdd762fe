/* Placing members: new names, old names, missing directories, links, failures that leave
 * nothing behind. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/lib_internal.h"
#include "suites.h"

static struct omcc connection;
static struct omcc_member object, small;

static void make_object(void)
{
  folder_enter();
  write_file("object", "0123456789", 10);
  object = (struct omcc_member){ .name = "model.om", .kind = "artifact", .bytes = 10 };
  object.fd = open("object", O_RDONLY);
  small = (struct omcc_member){
    .name = "x", .kind = "side", .bytes = 3, .fd = -1, .data = (const uint8_t *)"abc"
  };
  connection.peer_uid = geteuid();
}

static void expect_file(const char *path, const char *content, mode_t mode)
{
  char bytes[64] = "";
  struct stat st;
  int fd = open(path, O_RDONLY);

  ck_assert_msg(fd >= 0, "%s is not there", path);
  ck_assert_int_eq(read(fd, bytes, sizeof(bytes) - 1), (ssize_t)strlen(content));
  ck_assert_str_eq(bytes, content);
  ck_assert_int_eq(fstat(fd, &st), 0);
  ck_assert_uint_eq(st.st_mode & 07777, mode);
  close(fd);
}

START_TEST(new_file)
{
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  ck_assert_int_eq(omcc_place(&connection, &object, "a/b/out.om", NULL, &how, &err), 0);
  expect_file("a/b/out.om", "0123456789", 0600);
  ck_assert_uint_eq(count_names("a/b"), 1);
}
END_TEST

START_TEST(replaces)
{
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  ck_assert_int_eq(mkdir("out", 0700), 0);
  write_file("out/m.om", "old", 3);
  ck_assert_int_eq(omcc_place(&connection, &object, "out/m.om", NULL, &how, &err), 0);
  expect_file("out/m.om", "0123456789", 0600);
  ck_assert_uint_eq(count_names("out"), 1);
}
END_TEST

START_TEST(inline_member)
{
  struct omcc_place_options options = { .size = sizeof(options), .mode = 0640 };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  ck_assert_int_eq(omcc_place(&connection, &small, "side/x", &options, &how, &err), 0);
  expect_file("side/x", "abc", 0640);
}
END_TEST

START_TEST(link_twice)
{
  struct omcc_place_options options = { .size = sizeof(options), .link = true };
  struct omcc_error err = { 0 };
  struct omcc_placed how;
  struct stat a, b;

  ck_assert_int_eq(mkdir("out", 0700), 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(omcc_place(&connection, &object, "out/m.om", &options, &how, &err),
                     0);
    ck_assert_str_eq(how.how, "link");
    ck_assert_int_eq(stat("object", &a), 0);
    ck_assert_int_eq(stat("out/m.om", &b), 0);
    ck_assert_uint_eq(a.st_ino, b.st_ino);
    ck_assert_uint_eq(count_names("out"), 1);
  }
}
END_TEST

START_TEST(link_refused)
{
  struct omcc_place_options options = { .size = sizeof(options), .link = true };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  connection.peer_uid = geteuid() + 1;
  ck_assert_int_eq(omcc_place(&connection, &object, "m.om", &options, &how, &err), 0);
  ck_assert_str_eq(how.link_refused, "the daemon runs as another user");
  ck_assert_str_ne(how.how, "link");
  expect_file("m.om", "0123456789", 0600);
}
END_TEST

/* Whatever the daemon says of itself. */
START_TEST(link_to_a_strangers_file)
{
  struct omcc_place_options options = { .size = sizeof(options), .link = true };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  if (geteuid())
    connection.peer_uid = geteuid() + 1; /* cannot give a file away */
  else
    ck_assert_int_eq(fchown(object.fd, 65534, 65534), 0);
  ck_assert_int_eq(omcc_place(&connection, &object, "m.om", &options, &how, &err), 0);
  ck_assert_str_eq(how.link_refused, "the daemon runs as another user");
  ck_assert_str_ne(how.how, "link");
}
END_TEST

START_TEST(link_leaves_nothing_when_it_fails)
{
  struct omcc_place_options options = { .size = sizeof(options), .link = true };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  ck_assert_int_eq(mkdir("folder", 0700), 0);
  ck_assert_int_lt(omcc_place(&connection, &object, "folder", &options, &how, &err), 0);
  ck_assert_uint_eq(count_names("."), 2);
}
END_TEST

/* A link at the target's name is replaced; what it points to stays as it was. */
START_TEST(link_is_not_followed)
{
  struct omcc_error err = { 0 };
  struct omcc_placed how;
  struct stat st;

  write_file("precious", "keep me", 7);
  ck_assert_int_eq(symlink("precious", "m.om"), 0);
  ck_assert_int_eq(omcc_place(&connection, &object, "m.om", NULL, &how, &err), 0);
  ck_assert_int_eq(lstat("m.om", &st), 0);
  ck_assert(S_ISREG(st.st_mode));
  expect_file("precious", "keep me", 0644);
  expect_file("m.om", "0123456789", 0600);
}
END_TEST

START_TEST(link_across)
{
  struct omcc_place_options options = { .size = sizeof(options), .link = true };
  struct omcc_error err = { 0 };
  struct omcc_placed how;
  char dir[] = "/dev/shm/omcc-test-XXXXXX";
  char path[64];
  struct stat here, there;

  ck_assert_ptr_nonnull(mkdtemp(dir));
  snprintf(path, sizeof(path), "%s/m.om", dir);
  ck_assert_int_eq(stat("object", &here), 0);
  ck_assert_int_eq(stat(dir, &there), 0);
  ck_assert_int_eq(omcc_place(&connection, &object, path, &options, &how, &err), 0);
  if (here.st_dev != there.st_dev)
    ck_assert_str_eq(how.link_refused, "the cache is on another file system");
  expect_file(path, "0123456789", here.st_dev == there.st_dev ? 0644 : 0600);
  unlink(path);
  rmdir(dir);
}
END_TEST

START_TEST(bad_places)
{
  static const char *const paths[] = { "object/m.om", "folder", "/proc/m.om", "out/" };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  ck_assert_int_eq(mkdir("folder", 0700), 0);
  /* What only the attempt shows, the check may pass. */
  if (omcc_place_check(paths[_i], &err) < 0)
    ck_assert_str_eq(err.id, "output-not-writable");
  else
    ck_assert_str_eq(paths[_i], "/proc/m.om");
  memset(&err, 0, sizeof(err));
  ck_assert_int_lt(omcc_place(&connection, &object, paths[_i], NULL, &how, &err), 0);
  ck_assert_str_eq(err.id, "output-not-writable");
  ck_assert_uint_eq(count_names("folder"), 0);
}
END_TEST

START_TEST(check_leaves_nothing)
{
  struct omcc_error err = { 0 };

  ck_assert_int_eq(omcc_place_check("new/deep/m.om", &err), 0);
  ck_assert_int_lt(access("new", F_OK), 0);
}
END_TEST

/* A file size limit is the disk that is full for this process. */
START_TEST(no_room)
{
  struct rlimit limit = { 4, 4 };
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(mkdir("out", 0700), 0);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ck_assert_int_lt(omcc_place(&connection, &object, "out/m.om", NULL, &how, &err), 0);
  ck_assert_uint_eq(count_names("out"), 0);
}
END_TEST

START_TEST(short_object)
{
  struct omcc_member longer = object;
  struct omcc_error err = { 0 };
  struct omcc_placed how;

  longer.bytes = 11;
  ck_assert_int_eq(mkdir("out", 0700), 0);
  ck_assert_int_lt(omcc_place(&connection, &longer, "out/m.om", NULL, &how, &err), 0);
  ck_assert_uint_eq(count_names("out"), 0);
}
END_TEST

TCase *place_cases(void)
{
  TCase *t = tcase_create("place");

  tcase_add_checked_fixture(t, make_object, folder_leave);
  tcase_add_test(t, new_file);
  tcase_add_test(t, replaces);
  tcase_add_test(t, inline_member);
  tcase_add_test(t, link_twice);
  tcase_add_test(t, link_refused);
  tcase_add_test(t, link_to_a_strangers_file);
  tcase_add_test(t, link_leaves_nothing_when_it_fails);
  tcase_add_test(t, link_is_not_followed);
  tcase_add_test(t, link_across);
  tcase_add_loop_test(t, bad_places, 0, 4);
  tcase_add_test(t, check_leaves_nothing);
  tcase_add_test(t, no_room);
  tcase_add_test(t, short_object);
  return t;
}
