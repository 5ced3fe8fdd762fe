/* See server.h. Failures end the process, which the client sees as a lost daemon. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 10000

Omcc__V1__ToDaemon *server_receive(struct server *s, struct oc_frame *frame)
{
  ProtobufCMessage *m;

  if (oc_channel_wait(s->channel, WAIT_MS, frame, NULL) < 0 ||
      oc_message_unpack(&omcc__v1__to_daemon__descriptor, frame->body, frame->len,
                        &s->arena, &m, NULL) < 0)
    return NULL;
  return (Omcc__V1__ToDaemon *)m;
}

void server_send(struct server *s, Omcc__V1__ToClient *m, const int *fds, size_t n_fds)
{
  struct oc_buf body;

  oc_buf_init(&body, OC_MAX_FRAME);
  if (oc_message_pack(m, &body) ||
      oc_channel_send(s->channel, body.data, body.len, fds, n_fds, false, NULL) < 0 ||
      oc_channel_drain(s->channel, WAIT_MS, NULL) < 0)
    _exit(3);
  oc_buf_clear(&body);
}

void server_greet(struct server *s)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__Hello hello = OMCC__V1__HELLO__INIT;
  struct oc_frame frame;

  if (!server_receive(s, &frame))
    _exit(4);
  hello.min = hello.max = 1;
  hello.build = (char *)"scripted";
  hello.pid = 4711;
  hello.uid = (uint32_t)geteuid();
  m.body_case = OMCC__V1__TO_CLIENT__BODY_HELLO;
  m.hello = &hello;
  server_send(s, &m, NULL, 0);
}

static pid_t start(const char *path, server_script script, bool greet)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int more = 0;
  pid_t pid;

  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
  if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 8))
    abort();
  pid = fork();
  if (pid) {
    close(listener);
    return pid;
  }
  for (int i = 0; more == 0; i++) {
    struct server s = { .channel =
                            oc_channel_new(accept(listener, NULL, NULL), 1 << 20) };

    oc_arena_init(&s.arena, 0);
    if (greet && script)
      server_greet(&s);
    more = script ? script(&s, i) : 1;
    oc_channel_free(s.channel);
    oc_arena_clear(&s.arena);
  }
  _exit(0);
}

pid_t server_start(const char *path, server_script script)
{
  return start(path, script, true);
}

pid_t server_start_silent(const char *path, server_script script)
{
  return start(path, script, false);
}
