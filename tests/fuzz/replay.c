/* replay FOLDER...: runs a target over every file of the folders, in order of names, and
 * prints how many there were. A finding is a crash, as under libFuzzer. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "target.h"

/* A copy on the heap of exactly the file's size, so that a sanitizer sees one byte too
 * many. */
static int run_file(int folder, const char *name)
{
  auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
  struct stat st;

  if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
    return 0;
  auto_free uint8_t *bytes = malloc((size_t)st.st_size + !st.st_size);
  if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size) {
    fprintf(stderr, "replay: cannot read '%s'\n", name);
    exit(1);
  }
  LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
  return 1;
}

static int run_folder(const char *path)
{
  struct dirent **entries = NULL;
  int n = scandir(path, &entries, NULL, alphasort), count = 0;
  auto_close int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  for (int i = 0; i < n; i++) {
    count += run_file(folder, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return count;
}

int main(int argc, char **argv)
{
  int count = 0;

  for (int i = 1; i < argc; i++)
    count += run_folder(argv[i]);
  printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
