/* Frames by hand: what a client of this protocol does, without being libomcc. */
#include "talk.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "house.h"

void talk_connect(struct talk *t)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  memset(t, 0, sizeof(*t));
  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", house.socket);
  ck_assert_int_ge(fd, 0);
  ck_assert_msg(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)), "connect %s",
                addr.sun_path);
  t->channel = oc_channel_new(fd, 4u << 20);
  ck_assert_ptr_nonnull(t->channel);
}

void talk_close(struct talk *t)
{
  oc_frame_close_fds(&t->frame);
  oc_arena_clear(&t->arena);
  oc_channel_free(t->channel);
  t->channel = NULL;
}

void talk_send(struct talk *t, Omcc__V1__ToDaemon *m, const int *fds, size_t n_fds)
{
  struct oc_buf body;

  oc_buf_init(&body, OC_MAX_FRAME);
  ck_assert_int_eq(oc_message_pack(m, &body), 0);
  ck_assert_int_eq(
      oc_channel_send(t->channel, body.data, body.len, fds, n_fds, false, NULL), 0);
  oc_buf_clear(&body);
  oc_channel_drain(t->channel, TALK_MS, NULL);
}

void talk_open(struct talk *t)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;

  talk_connect(t);
  hello.min = hello.max = 1;
  hello.build = (char *)"test";
  m.body_case = OMCC__V1__TO_DAEMON__BODY_HELLO;
  m.hello = &hello;
  talk_send(t, &m, NULL, 0);
  talk_until(t, OMCC__V1__TO_CLIENT__BODY_HELLO);
}

const Omcc__V1__ToClient *talk_next(struct talk *t)
{
  struct oc_error err = { 0 };
  ProtobufCMessage *m;
  int r;

  oc_frame_close_fds(&t->frame);
  memset(&t->frame, 0, sizeof(t->frame));
  oc_arena_clear(&t->arena);
  t->last = NULL;
  r = oc_channel_wait(t->channel, TALK_MS, &t->frame, &err);
  ck_assert_msg(r != OC_E_BUSY, "the server says nothing");
  if (r < 0)
    return NULL;
  oc_arena_init(&t->arena, oc_message_cap(t->frame.len));
  ck_assert_int_eq(oc_message_unpack(&omcc__v1__to_client__descriptor, t->frame.body,
                                     t->frame.len, &t->arena, &m, &err),
                   0);
  t->last = (const Omcc__V1__ToClient *)m;
  return t->last;
}

bool talk_ended(struct talk *t)
{
  const Omcc__V1__ToClient *m;

  do {
    m = talk_next(t);
  } while (m && m->body_case == OMCC__V1__TO_CLIENT__BODY_REFUSAL);
  return !m;
}

static void note(struct talk *t, const Omcc__V1__ToClient *m)
{
  size_t len = strlen(t->phases);

  if (m->body_case == OMCC__V1__TO_CLIENT__BODY_ACCEPTED)
    snprintf(t->phases + len, sizeof(t->phases) - len, "%s ",
             m->accepted->joined ? "joined" : "accepted");
  else if (m->body_case == OMCC__V1__TO_CLIENT__BODY_PROGRESS)
    snprintf(t->phases + len, sizeof(t->phases) - len, "%s ", m->progress->phase);
  else if (m->body_case == OMCC__V1__TO_CLIENT__BODY_OUTPUT) {
    len = strlen(t->output);
    snprintf(t->output + len, sizeof(t->output) - len, "%.*s", (int)m->output->data.len,
             (const char *)m->output->data.data);
    t->n_replayed += m->output->replayed;
  }
}

const Omcc__V1__ToClient *talk_until(struct talk *t, Omcc__V1__ToClient__BodyCase what)
{
  for (;;) {
    const Omcc__V1__ToClient *m = talk_next(t);

    ck_assert_msg(m != NULL, "the server closed the connection");
    if (m->body_case == what)
      return m;
    ck_assert_msg(m->body_case == OMCC__V1__TO_CLIENT__BODY_ACCEPTED ||
                      m->body_case == OMCC__V1__TO_CLIENT__BODY_PROGRESS ||
                      m->body_case == OMCC__V1__TO_CLIENT__BODY_OUTPUT,
                  "message %d instead of %d", m->body_case, what);
    note(t, m);
  }
}

static int sealed(const char *text)
{
  int fd = memfd_create("list", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  ck_assert_int_eq(
      fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
      0);
  return fd;
}

static void set_flag(Omcc__V1__Flag *f, const char *name, const char *value)
{
  omcc__v1__flag__init(f);
  f->name = (char *)name;
  f->value = (char *)value;
}

void talk_submit(struct talk *t, const struct ask *a)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Submit s = OMCC__V1__SUBMIT__INIT;
  Omcc__V1__Flag flag[8], *flags[8];
  Omcc__V1__File file[2], *files[2];
  int fds[2];

  set_flag(&flag[0], "model", a->model);
  set_flag(&flag[1], "framework", a->framework_tf ? "3" : "5");
  set_flag(&flag[2], "soc_version", "Ascend310P3");
  set_flag(&flag[3], "output", "out");
  s.n_flags = 4;
  if (a->flag)
    set_flag(&flag[s.n_flags++], a->flag, a->value);
  fds[0] = open(a->model, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ck_assert_int_ge(fds[0], 0);
  omcc__v1__file__init(&file[0]);
  file[0].flag = (char *)"model";
  file[0].name = (char *)a->model;
  s.n_files = 1;
  if (a->keep) {
    set_flag(&flag[s.n_flags++], "keep_dtype", "keep.cfg");
    omcc__v1__file__init(&file[1]);
    file[1].flag = (char *)"keep_dtype";
    file[1].name = (char *)"keep.cfg";
    file[1].fd = 1;
    file[1].sealed = true;
    fds[1] = sealed(a->keep);
    s.n_files = 2;
  }
  for (size_t i = 0; i < s.n_flags; i++)
    flags[i] = &flag[i];
  for (size_t i = 0; i < s.n_files; i++)
    files[i] = &file[i];
  s.flags = flags;
  s.files = files;
  s.want = a->want;
  s.backend = (char *)(a->backend ? a->backend : "builtin");
  s.stop_at = (char *)(a->stop_at ? a->stop_at : "");
  m.id = a->id ? a->id : 1;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_SUBMIT;
  m.submit = &s;
  talk_send(t, &m, fds, s.n_files);
  for (size_t i = 0; i < s.n_files; i++)
    close(fds[i]);
}

const Omcc__V1__Finished *talk_ask(struct talk *t, const struct ask *a)
{
  t->phases[0] = t->output[0] = '\0';
  t->n_replayed = 0;
  talk_submit(t, a);
  return talk_until(t, OMCC__V1__TO_CLIENT__BODY_FINISHED)->finished;
}

const char *talk_artifact(struct talk *t)
{
  static char text[4096];
  const Omcc__V1__Finished *f = t->last->finished;

  text[0] = '\0';
  for (size_t i = 0; i < f->n_members; i++) {
    const Omcc__V1__Member *m = f->members[i];
    ssize_t n;

    if (strcmp(m->kind, "artifact"))
      continue;
    if (m->where_case == OMCC__V1__MEMBER__WHERE_INLINE) {
      n = (ssize_t)m->inline_.len;
      memcpy(text, m->inline_.data, m->inline_.len);
    } else {
      ck_assert_uint_lt(m->fd, t->frame.n_fds);
      n = pread(t->frame.fds[m->fd], text, sizeof(text) - 1, 0);
    }
    ck_assert_int_eq(n, (ssize_t)m->size);
    text[n] = '\0';
  }
  return text;
}

void talk_stop(struct talk *t, bool now)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__StopRequest stop = OMCC__V1__STOP_REQUEST__INIT;

  stop.now = now;
  m.id = 99;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_STOP;
  m.stop = &stop;
  talk_send(t, &m, NULL, 0);
  talk_until(t, OMCC__V1__TO_CLIENT__BODY_STOPPING);
}

uint64_t talk_counter(struct talk *t, const char *name)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__StatusRequest status = OMCC__V1__STATUS_REQUEST__INIT;
  const Omcc__V1__Status *s;

  m.id = 98;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_STATUS;
  m.status = &status;
  talk_send(t, &m, NULL, 0);
  s = talk_until(t, OMCC__V1__TO_CLIENT__BODY_STATUS)->status;
  for (size_t i = 0; i < s->n_jobs; i++)
    if (!strcmp(s->jobs[i]->name, name))
      return s->jobs[i]->value;
  ck_abort_msg("no counter %s", name);
}

void talk_await_workers(struct talk *t, size_t n)
{
  struct timespec pause = { .tv_nsec = 10000000 };

  for (int i = 0; i < TALK_MS / 10; i++) {
    size_t ready = 0;

    talk_counter(t, "running");
    for (size_t k = 0; k < t->last->status->n_workers; k++)
      ready += !strcmp(t->last->status->workers[k]->state, "waiting");
    if (ready == n)
      return;
    nanosleep(&pause, NULL);
  }
  ck_abort_msg("there were never %zu workers waiting", n);
}

void talk_await(struct talk *t, const char *name, uint64_t value)
{
  struct timespec pause = { .tv_nsec = 10000000 };

  for (int i = 0; i < TALK_MS / 10; i++) {
    if (talk_counter(t, name) == value)
      return;
    nanosleep(&pause, NULL);
  }
  ck_abort_msg("%s never became %lu", name, (unsigned long)value);
}
