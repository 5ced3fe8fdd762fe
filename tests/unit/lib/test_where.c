/* Which socket, and what lies there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/lib_internal.h"
#include "suites.h"

START_TEST(order)
{
  struct omcc_options options = { .size = sizeof(options), .socket = "/a/given" };
  char path[OMCC_PATH_ROOM], expected[64];

  setenv("OMCC_SOCKET", "/b/env", 1);
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  ck_assert_int_eq(omcc_socket_path(&options, path, sizeof(path), NULL), 0);
  ck_assert_str_eq(path, "/a/given");
  ck_assert_int_eq(omcc_socket_path(NULL, path, sizeof(path), NULL), 0);
  ck_assert_str_eq(path, "/b/env");
  unsetenv("OMCC_SOCKET");
  ck_assert_int_eq(omcc_socket_path(NULL, path, sizeof(path), NULL), 0);
  ck_assert_str_eq(path, "/run/user/7/omcc/omccd.sock");
  unsetenv("XDG_RUNTIME_DIR");
  ck_assert_int_eq(omcc_socket_path(NULL, path, sizeof(path), NULL), 0);
  snprintf(expected, sizeof(expected), "/tmp/omcc-%u/omccd.sock", (unsigned)geteuid());
  ck_assert_str_eq(path, expected);
}
END_TEST

START_TEST(too_long)
{
  struct omcc_options options = { .size = sizeof(options) };
  char path[OMCC_PATH_ROOM], longest[120];
  struct omcc_error err = { 0 };

  memset(longest, 'a', sizeof(longest));
  longest[0] = '/';
  longest[107] = '\0';
  options.socket = longest;
  ck_assert_int_eq(omcc_socket_path(&options, path, sizeof(path), &err), 0);
  longest[107] = 'a';
  longest[108] = '\0';
  ck_assert_int_lt(omcc_socket_path(&options, path, sizeof(path), &err), 0);
  ck_assert_int_eq(err.status, OMCC_DAEMON);
  ck_assert_ptr_nonnull(strstr(err.msg, "108 bytes"));
}
END_TEST

static int listen_at(const char *path)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
  ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
  ck_assert_int_eq(listen(fd, 1), 0);
  return fd;
}

START_TEST(states)
{
  enum omcc_socket_state state;
  int fd;

  ck_assert_int_eq(omcc_socket_probe("s", &state, NULL), 0);
  ck_assert_int_eq(state, OMCC_MISSING);
  fd = listen_at("s");
  ck_assert_int_eq(omcc_socket_probe("s", &state, NULL), 0);
  ck_assert_int_eq(state, OMCC_LISTENING);
  /* Nobody accepts: the queue of connections fills up. */
  for (int i = 0; i < 8 && state == OMCC_LISTENING; i++)
    ck_assert_int_ge(omcc_try_connect("s", &state, NULL), -1);
  ck_assert_int_eq(state, OMCC_BUSY);
  close(fd);
  ck_assert_int_eq(omcc_socket_probe("s", &state, NULL), 0);
  ck_assert_int_eq(state, OMCC_STALE);
}
END_TEST

START_TEST(foreign_directory)
{
  struct omcc_error err = { 0 };
  char dir[64], socket_path[80];

  snprintf(dir, sizeof(dir), "/tmp/omcc-test-dir-%ld", (long)getpid());
  snprintf(socket_path, sizeof(socket_path), "%s/omccd.sock", dir);
  ck_assert_int_eq(omcc_socket_dir(socket_path, &err), 1);
  ck_assert_int_eq(chmod(dir, 0777), 0);
  ck_assert_int_lt(omcc_socket_dir(socket_path, &err), 0);
  ck_assert_ptr_nonnull(strstr(err.msg, "not a directory of this user alone"));
  rmdir(dir);
  ck_assert_int_eq(symlink("/", dir), 0);
  ck_assert_int_lt(omcc_socket_dir(socket_path, &err), 0);
  unlink(dir);
}
END_TEST

START_TEST(no_daemon_program)
{
  char socket_path[200];
  struct omcc_options options = { .size = sizeof(options),
                                  .socket = socket_path,
                                  .daemon = "/nowhere/omccd",
                                  .timeout_ms = 2000 };
  struct omcc_error err = { 0 };
  struct omcc *c = NULL;

  ck_assert_ptr_nonnull(getcwd(socket_path, 100));
  strncat(socket_path, "/s", 3);
  ck_assert_int_lt(omcc_connect(&options, &c, &err), 0);
  ck_assert_int_eq(err.status, OMCC_DAEMON);
  ck_assert_ptr_nonnull(strstr(err.msg, "cannot run '/nowhere/omccd'"));
  options.start = OMCC_START_NEVER;
  ck_assert_int_lt(omcc_connect(&options, &c, &err), 0);
  ck_assert_str_eq(err.fix, "omcc daemon start");
}
END_TEST

TCase *where_cases(void)
{
  TCase *t = tcase_create("where");

  tcase_add_checked_fixture(t, folder_enter, folder_leave);
  tcase_add_test(t, order);
  tcase_add_test(t, too_long);
  tcase_add_test(t, states);
  tcase_add_test(t, foreign_directory);
  tcase_add_test(t, no_daemon_program);
  return t;
}
