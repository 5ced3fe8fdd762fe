/* A scripted daemon in a process of its own: it answers Hello, then follows a script. */
#ifndef OC_TEST_LIB_SERVER_H
#define OC_TEST_LIB_SERVER_H

#include <sys/types.h>

#include "frame/frame.h"
#include "messages/messages.h"

struct server {
  struct oc_channel *channel;
  struct oc_arena arena;
};
typedef int (*server_script)(struct server *s,
                             int connection); /* 0: take the next connection */

/* Listens at `path` before it returns. The process ends when the script says so. */
pid_t server_start(const char *path, server_script script);
/* The same without greeting anybody: the script's first message is the Hello. */
pid_t server_start_silent(const char *path, server_script script);
/* Answers the Hello that comes next. */
void server_greet(struct server *s);
/* The next message of the client; NULL when it has gone. */
Omcc__V1__ToDaemon *server_receive(struct server *s, struct oc_frame *frame);
void server_send(struct server *s, Omcc__V1__ToClient *m, const int *fds, size_t n_fds);

#endif
