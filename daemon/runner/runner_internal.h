/* What the files of runner/ share. */
#ifndef OC_RUNNER_INTERNAL_H
#define OC_RUNNER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "frame/frame.h"
#include "messages/messages.h"

/* ---------------------------------------------------------------- job.c: the directory
 */

struct job {
  struct oc_arena arena;
  const Omcc__V1__Run *run; /* in the arena */
  const char *dir;          /* of the run, real path, safe alphabet */
  int in_fd, work_fd, out_fd;
  const char *atc;
  const char **argv; /* NULL-terminated */
  const char **env;
  const char *model_name; /* below in/, "" when the run has no model */
};

/* Unpacks nothing: `run` must live as long as the job. Makes the folders in/ work/ out/
 * home/ tmp/ cache/. */
int job_open(struct job *j, const Omcc__V1__Run *run, struct oc_error *err);
/* Places the files of Run (descriptors of its frame) and builds the command. */
int job_place(struct job *j, struct oc_frame *f, struct oc_error *err);
/* External data, from Run or MoreFiles. */
int job_place_external(struct job *j, Omcc__V1__ExternalFile *const *files, size_t n,
                       struct oc_frame *f, struct oc_error *err);
void job_close(struct job *j);

/* ---------------------------------------------------------------- command.c */

/* The neutral name of a flag's file, such as "keep_dtype.cfg"; for the model its
 * extension follows the user's. */
const char *command_file_name(struct job *j, const char *flag, const char *users_name);
/* Fills argv and env. */
int command_build(struct job *j, struct oc_error *err);

/* ---------------------------------------------------------------- copy.c */

/* Copies the whole regular file `from` to a new file `path` below `dir`, making folders.
 */
int copy_file(int from, int dir, const char *path, struct oc_error *err);
/* Relative, no "..", no empty pieces. */
bool path_is_inside(const char *path);

/* ---------------------------------------------------------------- compiler.c: the
 * processes */

struct compiler {
  pid_t pid; /* and process group; 0: not started */
  int pidfd;
  int out_fd, err_fd; /* our ends, non-blocking; -1 when ended */
  pid_t guard;
  int guard_fd;
  bool ended;
  int wait_status;
  uint64_t max_rss_bytes; /* of its largest process, known when ended */
};

int compiler_start(struct compiler *c, const struct job *j, struct oc_error *err);
void compiler_signal(const struct compiler *c, int sig);
/* Looks whether the wrapper has ended (pidfd readable). */
void compiler_reap(struct compiler *c);
/* After its end or for good: kills what is left of the group and of its descendants. */
void compiler_sweep(struct compiler *c);
void compiler_close(struct compiler *c);

/* ---------------------------------------------------------------- memory.c */

/* Memory that is the group's own (anonymous pages), in bytes. */
uint64_t memory_of_group(pid_t group);
/* How often this machine's kernel killed for want of memory; 0 when unknown. */
uint64_t memory_oom_kills(void);

/* ---------------------------------------------------------------- collect.c */

struct member {
  const char *name; /* relative to out/ */
  const char *kind;
  uint32_t mode;
  uint64_t size;
  int fd;
};
struct members {
  struct member items[OC_MAX_MEMBERS];
  size_t n;
};
/* Opens what the compiler left. Descriptors are the caller's. */
int collect(struct job *j, struct members *ret, struct oc_error *err);
void members_close(struct members *m);

#endif
