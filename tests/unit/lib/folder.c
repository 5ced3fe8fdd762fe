/* A folder of its own for each test. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"

static char path[64];

void folder_enter(void)
{
  memcpy(path, "/tmp/omcc-test-XXXXXX", 22);
  ck_assert_ptr_nonnull(mkdtemp(path));
  ck_assert_int_eq(chdir(path), 0);
}

static int remove_one(const char *p, const struct stat *st, int kind, struct FTW *where)
{
  (void)st, (void)kind, (void)where;
  return remove(p);
}

void folder_leave(void)
{
  ck_assert_int_eq(chdir("/"), 0);
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void write_file(const char *name, const void *bytes, size_t len)
{
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
  close(fd);
}

size_t count_names(const char *dir)
{
  DIR *d = opendir(dir);
  size_t n = 0;

  ck_assert_ptr_nonnull(d);
  for (struct dirent *e = readdir(d); e; e = readdir(d))
    n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
  closedir(d);
  return n;
}
