/* Opening what flags name: kinds of files, suggestions, pipes, confinement. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/lib_internal.h"
#include "suites.h"

struct row {
  const char *name, *flag;
  bool list;
  const char *id; /* "" = opens */
};

static const struct row rows[] = {
  { "model.onnx", "model", false, "" },
  { "absent.onnx", "model", false, "file-missing" },
  { "model.onnx/x", "model", false, "file-missing" },
  { "folder", "model", false, "file-not-regular" },
  { "/dev/null", "model", false, "file-not-regular" },
  { "pipe", "model", false, "file-not-regular" },
  { "keep.cfg", "keep_dtype", true, "" },
  { "absent.cfg", "keep_dtype", true, "file-missing" },
  { "absent.cfg", "modify_mixlist", true, "mixlist-missing" },
  { "absent.cfg", "customize_dtypes", true, "customize-missing" },
  { "folder", "keep_dtype", true, "file-not-regular" },
  { "/dev/zero", "keep_dtype", true, "file-not-regular" },
  { "\xe5\x88\x97\xe8\xa1\xa8.cfg", "keep_dtype", true, "" },
};

static void make_files(void)
{
  folder_enter();
  write_file("model.onnx", "onnx", 4);
  write_file("keep.cfg", "OpType::Relu\n", 13);
  write_file("exceptionlist.cfg", "", 0);
  write_file("\xe5\x88\x97\xe8\xa1\xa8.cfg", "a\n", 2);
  ck_assert_int_eq(mkdir("folder", 0700), 0);
  ck_assert_int_eq(mkfifo("pipe", 0600), 0);
}

START_TEST(kinds)
{
  const struct row *row = &rows[_i];
  struct omcc_error err = { 0 };
  int fd = -1;
  int rc = omcc_open_file(row->flag, row->name, row->list, &fd, &err);

  ck_assert_msg(!strcmp(err.id, row->id), "%s: '%s' %s", row->name, err.id, err.msg);
  ck_assert_int_eq(rc == 0, !*row->id);
  ck_assert_int_eq(fd >= 0, !*row->id);
  if (*row->id) {
    ck_assert_int_eq(err.status, OMCC_REQUEST);
    ck_assert_str_eq(err.subject, row->name);
  }
}
END_TEST

START_TEST(neighbour)
{
  struct omcc_error err = { 0 };
  int fd;

  ck_assert_int_lt(omcc_open_file("keep_dtype", "execeptionlist.cfg", true, &fd, &err),
                   0);
  ck_assert_str_eq(err.fix, "did you mean 'exceptionlist.cfg'");
}
END_TEST

START_TEST(list_is_sealed)
{
  struct omcc_error err = { 0 };
  char bytes[32] = "";
  int fd = -1;

  ck_assert_int_eq(omcc_open_file("keep_dtype", "keep.cfg", true, &fd, &err), 0);
  ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 13);
  ck_assert_str_eq(bytes, "OpType::Relu\n");
  ck_assert_int_eq(fcntl(fd, F_GET_SEALS),
                   F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  ck_assert_int_lt(pwrite(fd, "x", 1, 0), 0);
  close(fd);
}
END_TEST

START_TEST(list_from_pipe)
{
  struct omcc_error err = { 0 };
  char bytes[16] = "";
  int fd = -1;
  pid_t pid = fork();

  if (pid == 0) {
    int out = open("pipe", O_WRONLY);

    usleep(50000);
    _exit(write(out, "one\n", 4) == 4 && !usleep(50000) && write(out, "two\n", 4) == 4
              ? 0
              : 1);
  }
  ck_assert_int_eq(omcc_open_file("keep_dtype", "pipe", true, &fd, &err), 0);
  ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 8);
  ck_assert_str_eq(bytes, "one\ntwo\n");
  waitpid(pid, NULL, 0);
  close(fd);
}
END_TEST

START_TEST(list_too_large)
{
  struct omcc_error err = { 0 };
  int fd = open("big.cfg", O_WRONLY | O_CREAT, 0600);

  ck_assert_int_eq(ftruncate(fd, (off_t)OC_MAX_LIST_BYTES + 1), 0);
  close(fd);
  ck_assert_int_lt(omcc_open_file("keep_dtype", "big.cfg", true, &fd, &err), 0);
  ck_assert_str_eq(err.id, "list-file-too-large");
}
END_TEST

struct external {
  const char *name, *reason; /* "" = opens */
};
static const struct external external[] = {
  { "w.bin", "" },
  { "sub/w.bin", "" },
  { "./w.bin", "" },
  { "no.bin", "absent" },
  { "../outside", "outside" },
  { "/etc/passwd", "outside" },
  { "sub", "not_regular" },
  { "link-out", "outside" },
  { "link-in", "" },
  { "sub/../../outside", "outside" },
};

START_TEST(confined)
{
  const struct external *row = &external[_i];
  const char *reason = "";
  int model, dir, fd;

  ck_assert_int_eq(mkdir("m", 0700), 0);
  ck_assert_int_eq(mkdir("m/sub", 0700), 0);
  write_file("outside", "x", 1);
  write_file("m/m.onnx", "x", 1);
  write_file("m/w.bin", "x", 1);
  write_file("m/sub/w.bin", "x", 1);
  ck_assert_int_eq(symlink("../outside", "m/link-out"), 0);
  ck_assert_int_eq(symlink("w.bin", "m/link-in"), 0);
  /* The model may be reached by a link: its own directory counts. */
  ck_assert_int_eq(symlink("m/m.onnx", "m.onnx"), 0);
  model = open("m.onnx", O_RDONLY | O_CLOEXEC);
  dir = omcc_open_dir_of(model);
  ck_assert_int_ge(dir, 0);
  close(model);
  fd = omcc_open_external(dir, row->name, &reason);
  ck_assert_msg(!strcmp(reason, row->reason), "%s: %s", row->name, reason);
  ck_assert_int_eq(fd >= 0, !*row->reason);
}
END_TEST

/* The file counts that was opened, wherever it is called by now and whatever the working
 * directory is. */
START_TEST(directory_of_the_opened_file)
{
  const char *reason = "";
  int model, dir;

  ck_assert_int_eq(mkdir("a", 0700), 0);
  ck_assert_int_eq(mkdir("b", 0700), 0);
  write_file("a/m.onnx", "x", 1);
  write_file("b/w.bin", "x", 1);
  model = open("a/m.onnx", O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(rename("a/m.onnx", "b/m.onnx"), 0);
  write_file("a/m.onnx", "y", 1);
  ck_assert_int_eq(chdir("a"), 0);
  dir = omcc_open_dir_of(model);
  ck_assert_int_eq(chdir(".."), 0);
  close(omcc_open_external(dir, "w.bin", &reason));
  ck_assert_str_eq(reason, "");
  ck_assert_int_eq(omcc_open_dir_of(-1), -1);
  close(dir);
  close(model);
}
END_TEST

TCase *files_cases(void)
{
  TCase *t = tcase_create("files");

  tcase_add_checked_fixture(t, make_files, folder_leave);
  tcase_add_loop_test(t, kinds, 0, sizeof(rows) / sizeof(rows[0]));
  tcase_add_test(t, neighbour);
  tcase_add_test(t, list_is_sealed);
  tcase_add_test(t, list_from_pipe);
  tcase_add_test(t, list_too_large);
  tcase_add_test(t, directory_of_the_opened_file);
  tcase_add_loop_test(t, confined, 0, sizeof(external) / sizeof(external[0]));
  return t;
}
