/* The daemon's side of one worker, blocking and without a loop: what tests need of it. */
#include "play_daemon.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define PLAY_TIMEOUT_MS 120000
#define PLAY_MAX_TABLES 64

static void join(char *ret, size_t room, const char *variable, const char *rest)
{
  const char *root = getenv(variable);

  ck_assert_msg(root != NULL, "%s is not set: run this test through ctest", variable);
  ck_assert_int_lt(snprintf(ret, room, "%s/%s", root, rest), (int)room);
}

void play_tell(struct oc_channel *c, const Omcc__V1__ToWorker *m, const int *fds,
               size_t n)
{
  struct oc_error err = { 0 };
  struct oc_buf out;

  oc_buf_init(&out, OC_MAX_FRAME);
  ck_assert_int_eq(oc_message_pack(m, &out), 0);
  ck_assert_msg(oc_channel_send(c, out.data, out.len, fds, n, false, &err) >= 0, "%s",
                err.msg);
  ck_assert_msg(oc_channel_drain(c, PLAY_TIMEOUT_MS, &err) >= 0, "%s", err.msg);
  oc_buf_clear(&out);
}

Omcc__V1__FromWorker *play_hear(struct play *p, struct oc_channel *c,
                                struct oc_frame *frame)
{
  struct oc_error err = { 0 };
  ProtobufCMessage *m = NULL;
  int r = oc_channel_wait(c, PLAY_TIMEOUT_MS, frame, &err);

  if (r == OC_E_CLOSED)
    return NULL;
  ck_assert_msg(r >= 0, "%s", err.msg);
  r = oc_message_unpack(&omcc__v1__from_worker__descriptor, frame->body, frame->len,
                        &p->arena, &m, &err);
  ck_assert_msg(r == 0, "%s", err.msg);
  return (Omcc__V1__FromWorker *)m;
}

/* One table per frame: the number of descriptors in a frame is limited. */
static void send_table(struct play *p, const char *dir, const char *name, bool last)
{
  Omcc__V1__TableFile file = OMCC__V1__TABLE_FILE__INIT;
  Omcc__V1__TableFile *files[] = { &file };
  Omcc__V1__Setup setup = OMCC__V1__SETUP__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  char path[4096];
  char *label = oc_arena_printf(&p->arena, "%s/%s", dir, name);
  const char *relative = oc_arena_printf(&p->arena, "schema/%s", label);

  join(path, sizeof path, "OMCC_SOURCE_DIR", relative);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  file.name = label;
  setup.files = files;
  setup.n_files = 1;
  setup.last = last;
  m.body_case = OMCC__V1__TO_WORKER__BODY_SETUP;
  m.setup = &setup;
  play_tell(p->zygote, &m, &fd, 1);
  close(fd);
}

static void send_tables(struct play *p)
{
  static const char *const dirs[] = { "soc", "ops" };
  char names[PLAY_MAX_TABLES][256]; /* NAME_MAX and its NUL */
  const char *dir_of[PLAY_MAX_TABLES];
  size_t n = 0;

  for (size_t d = 0; d < 2; d++) {
    char path[4096], relative[64];
    snprintf(relative, sizeof relative, "schema/%s", dirs[d]);
    join(path, sizeof path, "OMCC_SOURCE_DIR", relative);
    DIR *dir = opendir(path);
    ck_assert(dir != NULL);
    for (struct dirent *e; (e = readdir(dir));) {
      if (!oc_ends_with(e->d_name, ".yaml"))
        continue;
      ck_assert_uint_lt(n, PLAY_MAX_TABLES);
      snprintf(names[n], sizeof names[n], "%s", e->d_name);
      dir_of[n++] = dirs[d];
    }
    closedir(dir);
  }
  ck_assert_uint_gt(n, 0);
  for (size_t i = 0; i < n; i++)
    send_table(p, dir_of[i], names[i], i + 1 == n);
}

void play_start(struct play *p)
{
  char worker[4096];
  int pair[2];
  struct oc_frame frame;

  oc_arena_init(&p->arena, 0);
  join(worker, sizeof worker, "OMCC_BINARY_DIR", "bin/omcc-worker");
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  p->pid = fork();
  ck_assert_int_ge(p->pid, 0);
  if (p->pid == 0) {
    close(pair[0]);
    dup2(pair[1], 3);
    execl(worker, "omcc-worker", (char *)NULL);
    _exit(127);
  }
  close(pair[1]);
  p->zygote = oc_channel_new(pair[0], OC_MAX_FRAME);
  ck_assert(p->zygote != NULL);
  send_tables(p);
  Omcc__V1__FromWorker *m = play_hear(p, p->zygote, &frame);
  ck_assert(m && m->body_case == OMCC__V1__FROM_WORKER__BODY_READY);
  ck_assert_str_eq(m->ready->error, "");
  ck_assert_uint_gt(m->ready->n_socs, 10);
}

void play_end(struct play *p)
{
  int status = 0;

  oc_channel_free(p->zygote);
  ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  oc_arena_clear(&p->arena);
}

struct oc_channel *play_child(struct play *p, pid_t *ret_pid)
{
  Omcc__V1__Fork fork_one = OMCC__V1__FORK__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  struct oc_frame frame;

  fork_one.n = 1;
  m.body_case = OMCC__V1__TO_WORKER__BODY_FORK;
  m.fork = &fork_one;
  play_tell(p->zygote, &m, NULL, 0);
  Omcc__V1__FromWorker *answer;
  do {
    answer = play_hear(p, p->zygote, &frame);
    ck_assert(answer != NULL);
  } while (answer->body_case == OMCC__V1__FROM_WORKER__BODY_CHILD_GONE);
  ck_assert_int_eq(answer->body_case, OMCC__V1__FROM_WORKER__BODY_CHILD);
  if (ret_pid)
    *ret_pid = (pid_t)answer->child->pid;
  struct oc_channel *c = oc_channel_new(oc_frame_take_fd(&frame, 0), OC_MAX_FRAME);
  oc_frame_close_fds(&frame); /* its stderr: nobody listens here */
  ck_assert(c != NULL);
  Omcc__V1__FromWorker *hello = play_hear(p, c, &frame);
  ck_assert(hello && hello->body_case == OMCC__V1__FROM_WORKER__BODY_HELLO);
  return c;
}

int play_model(const char *kind)
{
  char zoogen[4096], path[] = "/tmp/omcc-worker-test-XXXXXX";
  int status = 0;
  int placeholder_fd = mkstemp(path);

  ck_assert_int_ge(placeholder_fd, 0);
  close(placeholder_fd);
  join(zoogen, sizeof zoogen, "OMCC_BINARY_DIR", "bin/zoogen");
  pid_t pid = fork();
  if (pid == 0) {
    execl(zoogen, "zoogen", kind, "-o", path, (char *)NULL);
    _exit(127);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "zoogen %s failed", kind);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  unlink(path);
  return fd;
}

int play_text(const char *text)
{
  int fd = memfd_create("list", MFD_CLOEXEC);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
  return fd;
}

void play_plan(struct oc_channel *c, const struct play_order *order)
{
  Omcc__V1__Plan plan = OMCC__V1__PLAN__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__Flag flags[16];
  Omcc__V1__Flag *flag_list[16];
  Omcc__V1__File model = OMCC__V1__FILE__INIT, keep = OMCC__V1__FILE__INIT;
  Omcc__V1__File *files[] = { &model, &keep };
  int fds[] = { order->model, order->keep };

  for (size_t i = 0; order->flags[2 * i]; i++) {
    ck_assert_uint_lt(i, 16);
    omcc__v1__flag__init(&flags[i]);
    flags[i].name = (char *)order->flags[2 * i];
    flags[i].value = (char *)order->flags[2 * i + 1];
    flag_list[i] = &flags[i];
    plan.n_flags = i + 1;
  }
  plan.flags = flag_list;
  model.flag = (char *)"model";
  model.name = (char *)"m.onnx";
  keep.flag = (char *)"keep_dtype";
  keep.name = (char *)"keep.cfg";
  keep.fd = 1;
  plan.files = files;
  plan.n_files = order->keep >= 0 ? 2 : 1;
  plan.backend = (char *)order->backend;
  plan.explain_only = order->explain_only;
  plan.label = (char *)"model";
  m.body_case = OMCC__V1__TO_WORKER__BODY_PLAN;
  m.plan = &plan;
  play_tell(c, &m, fds, plan.n_files);
}

const Omcc__V1__Report *play_report(struct play *p, struct oc_frame *frame)
{
  struct oc_error err = { 0 };
  ProtobufCMessage *m = NULL;
  struct stat st;
  int fd = oc_frame_take_fd(frame, 0);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(fstat(fd, &st), 0);
  uint8_t *bytes = oc_arena_alloc(&p->arena, (size_t)st.st_size);
  ck_assert_int_eq((int)pread(fd, bytes, (size_t)st.st_size, 0), (int)st.st_size);
  close(fd);
  int r = oc_message_unpack(&omcc__v1__report__descriptor, bytes, (size_t)st.st_size,
                            &p->arena, &m, &err);
  ck_assert_msg(r == 0, "%s", err.msg);
  return (const Omcc__V1__Report *)m;
}

const Omcc__V1__Op *play_op(const Omcc__V1__Report *r, const char *name)
{
  for (size_t i = 0; i < r->n_ops; i++)
    if (oc_streq(r->ops[i]->name, name))
      return r->ops[i];
  ck_abort_msg("the report has no op '%s'", name);
}

bool play_found(Omcc__V1__Finding **findings, size_t n, const char *id)
{
  for (size_t i = 0; i < n; i++)
    if (oc_streq(findings[i]->id, id))
      return true;
  return false;
}
