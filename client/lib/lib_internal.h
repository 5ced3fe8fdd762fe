/* What the files of libomcc share. */
#ifndef OMCC_LIB_INTERNAL_H
#define OMCC_LIB_INTERNAL_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "frame/frame.h"
#include "lib/omcc.h"
#include "messages/messages.h"

/* A socket path with its NUL, as the kernel's sockaddr_un has it. */
#define OMCC_PATH_ROOM 108
/* Bytes that may wait to be sent: some frames of names and flags. */
#define OMCC_WRITE_CAP (4u << 20)
/* How long one frame of descriptors may take to leave when many follow. */
#define OMCC_DRAIN_MS 10000

struct omcc_question_state {
  uint64_t id; /* 0: nothing asked */
  bool done;
  uint8_t *bytes; /* the packed answer */
  size_t len;
  int fds[OC_MAX_FRAME_FDS]; /* of the answer, -1 once taken */
  size_t n_fds;
  int rc; /* 0, or OMCC_E_* with `err` filled */
  struct omcc_error err;
};

struct omcc {
  struct oc_channel *channel; /* NULL while broken */
  char socket[OMCC_PATH_ROOM];
  char *daemon; /* path of omccd, NULL: look for it */
  enum omcc_start start;
  uint32_t idle_s;
  uint32_t timeout_ms;
  uint32_t peer_pid, peer_uid;
  bool given; /* the socket was named, it is not the usual place */
  char *peer_build;
  bool early;          /* the next connection need not wait for the greeting */
  bool greeted;        /* by the daemon, on this connection */
  int64_t greet_by_ms; /* until then it must, when we did not wait for it */
  bool started;        /* by this connection */
  bool delivered;      /* this dispatch finished something */
  uint64_t next_id;
  struct omcc_job *jobs; /* newest first */
  struct omcc_question_state question;
};

/* A file that a flag of the request names, held until the job is over: a restarted daemon
 * gets the same descriptors again. */
struct omcc_job_file {
  const char *flag, *name;
  int fd;
  bool sealed, directory;
};

struct omcc_job {
  struct omcc *c;
  struct omcc_job *next;
  uint64_t request; /* id on the connection */
  uint64_t id;      /* the daemon's number */
  struct omcc_callbacks on;
  void *user;
  struct oc_arena arena; /* request, list copies */
  Omcc__V1__Submit submit;
  struct omcc_job_file *files;
  size_t n_files;
  int model; /* index of the model in `files`, -1 */
  bool finished;
  bool resubmitted;
  struct oc_arena result_arena;
  struct omcc_result result;
};

/* ---- error.c ---- */

/* Fills `err` (may be NULL) and returns `code`. */
int omcc_fail(struct omcc_error *err, int code, int status, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));
/* The same with a finding: id, flag, subject, detail. */
int omcc_fail_finding(struct omcc_error *err, const char *id, const char *flag,
                      const char *subject, const char *detail) __attribute__((cold));
/* Takes over an oc_error. */
int omcc_fail_from(struct omcc_error *err, int status, const struct oc_error *from);
void omcc_fix(struct omcc_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

/* ---- where.c ---- */

/* Is the socket named by the caller or the environment, not one of the usual places? */
bool omcc_socket_given(const struct omcc_options *options);
/* Makes the socket's directory when it is a default place, and checks that it is ours.
 * 1: a private daemon may be started there; 0: the directory is somebody else's. */
int omcc_socket_dir(const char *socket, struct omcc_error *err);
/* Connects without blocking. The descriptor, or -1 with the state. */
int omcc_try_connect(const char *socket, enum omcc_socket_state *ret_state,
                     struct omcc_error *err);

/* ---- connect.c ---- */

/* The daemon's first message. 0, or the reason why there will be no others. */
int omcc_take_hello(struct omcc *c, const Omcc__V1__ToClient *m, struct omcc_error *err);

/* ---- start.c ---- */

/* Starts a private daemon unless another process just did. 0: try to connect again. */
int omcc_start_daemon(struct omcc *c, int64_t deadline_ms, struct omcc_error *err);
int64_t omcc_now_ms(void);
void omcc_sleep_ms(int ms);

/* ---- files.c ---- */

/* Opens what `flag` names. Lists are read into a sealed memfd. */
int omcc_open_file(const char *flag, const char *path, bool list, int *ret_fd,
                   struct omcc_error *err);
/* A descriptor, or -1: what cannot be opened is left to whoever compiles. */
int omcc_open_folder(const char *path);
/* O_PATH descriptor of the directory in which the opened file lies; -1: it cannot be
 * told.
 */
int omcc_open_dir_of(int fd);
/* `name` relative to the directory, confined to it. The descriptor, or -1 with the
 * reason: outside, absent, denied, not_regular. */
int omcc_open_external(int dir, const char *name, const char **ret_reason);

/* ---- submit.c, session.c ---- */

int omcc_send_submit(struct omcc_job *job, struct omcc_error *err);
int omcc_send(struct omcc *c, Omcc__V1__ToDaemon *m, const int *fds, size_t n_fds,
              bool move, struct omcc_error *err);
struct omcc_job *omcc_find_job(struct omcc *c, uint64_t request);
int omcc_answer_need_files(struct omcc_job *job, const Omcc__V1__NeedFiles *m,
                           struct omcc_error *err);
/* ---- ask.c ---- */

/* Frees the last answer and closes the descriptors nobody took. */
void omcc_forget_answer(struct omcc *c);

/* ---- result.c ---- */

/* Appends members that came before their Finished, or with it. */
int omcc_take_members(struct omcc_job *job, Omcc__V1__Member **m, size_t n,
                      struct oc_frame *frame, struct omcc_error *err);
int omcc_take_result(struct omcc_job *job, const Omcc__V1__Finished *m,
                     struct oc_frame *frame, struct omcc_error *err);
void omcc_clear_result(struct omcc_job *job);

#endif
