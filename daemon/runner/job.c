/* The directory of a run: inputs under neutral names, a working directory for the
 * compiler's droppings, a HOME for its caches and logs, and one folder where only results
 * are. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runner/runner_internal.h"

/* Flags, paths and environment of one run. */
#define JOB_ARENA (16u << 20)

/* The compiler refuses other characters in real paths (letters, digits, CJK, these four).
 */
static bool path_is_safe(const char *path)
{
  for (const char *p = path; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
          (*p >= '0' && *p <= '9') || strchr("-._/", *p)))
      return false;
  return true;
}

static int make_folder(int dir, const char *name, int *ret_fd, struct oc_error *err)
{
  if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
    return oc_error_errno(err, OC_E_IO, "cannot make the folder '%s' of a run", name);
  if (!ret_fd)
    return 0;
  *ret_fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return *ret_fd >= 0
             ? 0
             : oc_error_errno(err, OC_E_IO, "cannot open the folder '%s' of a run", name);
}

static int make_folders(struct job *j, struct oc_error *err)
{
  auto_close int dir = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (dir < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open the job directory '%s'", j->dir);
  int rc = make_folder(dir, "in", &j->in_fd, err);
  if (rc == 0)
    rc = make_folder(dir, "work", &j->work_fd, err);
  if (rc == 0)
    rc = make_folder(dir, "out", &j->out_fd, err);
  if (rc == 0)
    rc = make_folder(dir, "home", NULL, err);
  if (rc == 0)
    rc = make_folder(dir, "tmp", NULL, err);
  if (rc == 0)
    rc = make_folder(dir, "cache", NULL, err);
  return rc;
}

static bool can_run(const char *path)
{
  struct stat st;

  return path && path[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
         access(path, X_OK) == 0;
}

/* `toolkit` is the wrapper itself, or a directory that holds it in one of the usual
 * places. */
static int find_atc(struct job *j, struct oc_error *err)
{
  static const char *const places[] = { "", "/bin/atc", "/compiler/bin/atc",
                                        "/atc/bin/atc" };

  for (size_t i = 0; i < OC_COUNT(places); i++) {
    j->atc = oc_arena_printf(&j->arena, "%s%s", j->run->toolkit, places[i]);
    if (can_run(j->atc))
      return 0;
  }
  return oc_error_set(err, OC_E_ARG, "the toolkit '%s' has no compiler that can be run",
                      j->run->toolkit);
}

int job_open(struct job *j, const Omcc__V1__Run *run, struct oc_error *err)
{
  memset(j, 0, sizeof(*j));
  j->in_fd = j->work_fd = j->out_fd = -1;
  j->run = run;
  j->model_name = "";
  oc_arena_init(&j->arena, JOB_ARENA);
  auto_free char *real = realpath(run->job_dir, NULL);
  if (!real)
    return oc_error_errno(err, OC_E_IO, "cannot find the job directory '%s'",
                          run->job_dir);
  if (!path_is_safe(real))
    return oc_error_set(err, OC_E_ARG,
                        "the job directory '%s' has characters that the compiler refuses",
                        real);
  j->dir = oc_arena_strdup(&j->arena, real);
  if (!j->dir)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a run");
  int rc = find_atc(j, err);
  return rc < 0 ? rc : make_folders(j, err);
}

int job_place(struct job *j, struct oc_frame *f, struct oc_error *err)
{
  for (size_t i = 0; i < j->run->n_files; i++) {
    const Omcc__V1__File *file = j->run->files[i];
    const char *name = command_file_name(j, file->flag, file->name);
    auto_close int fd = oc_frame_take_fd(f, file->fd);
    if (!name)
      return oc_error_set(err, OC_E_NOMEM, "no memory for a run");
    if (fd < 0)
      return oc_error_set(err, OC_E_PROTO, "the file of --%s has no descriptor",
                          file->flag);
    int rc = copy_file(fd, j->in_fd, name, err);
    if (rc < 0)
      return rc;
    if (oc_streq(file->flag, "model"))
      j->model_name = name;
  }
  return command_build(j, err);
}

int job_place_external(struct job *j, Omcc__V1__ExternalFile *const *files, size_t n,
                       struct oc_frame *f, struct oc_error *err)
{
  for (size_t i = 0; i < n; i++) {
    auto_close int fd = oc_frame_take_fd(f, files[i]->fd);
    if (fd < 0)
      return oc_error_set(err, OC_E_PROTO, "external data '%s' has no descriptor",
                          files[i]->name);
    if (!path_is_inside(files[i]->name))
      return oc_error_set(err, OC_E_ARG,
                          "external data '%s' is outside of the model's folder",
                          files[i]->name);
    if (oc_streq(files[i]->name, j->model_name))
      return oc_error_set(err, OC_E_ARG, "external data '%s' has the model's own name",
                          files[i]->name);
    int rc = copy_file(fd, j->in_fd, files[i]->name, err);
    if (rc < 0)
      return rc;
  }
  return 0;
}

void job_close(struct job *j)
{
  oc_close_fd(&j->in_fd);
  oc_close_fd(&j->work_fd);
  oc_close_fd(&j->out_fd);
  oc_arena_clear(&j->arena);
}
