/* A client for tests: blocking, one connection, as rude as a test wants it. */
#ifndef TEST_SERVER_TALK_H
#define TEST_SERVER_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "frame/frame.h"
#include "messages/messages.h"

struct talk {
  struct oc_channel *channel;
  struct oc_arena arena; /* the last answer */
  const Omcc__V1__ToClient *last;
  struct oc_frame frame; /* its descriptors */
  char phases[512];      /* words of Accepted and Progress seen on the way */
  char output[2048];     /* lines of the compiler seen on the way */
  size_t n_replayed;
};

#define TALK_MS 120000 /* for what hangs */

void talk_connect(struct talk *t); /* without a greeting */
void talk_open(struct talk *t);    /* greeted */
void talk_close(struct talk *t);
void talk_send(struct talk *t, Omcc__V1__ToDaemon *m, const int *fds, size_t n_fds);
/* The next message whatever it is; NULL when the server has closed. */
const Omcc__V1__ToClient *talk_next(struct talk *t);
/* True when the server has closed the connection. */
bool talk_ended(struct talk *t);
/* Messages up to the first of this kind; others but Accepted, Progress, Output fail. */
const Omcc__V1__ToClient *talk_until(struct talk *t, Omcc__V1__ToClient__BodyCase what);

struct ask {
  uint64_t id;
  Omcc__V1__Submit__Want want;
  const char *model;        /* path */
  const char *backend;      /* NULL: "builtin" */
  const char *flag, *value; /* one more, NULL none */
  const char *keep;         /* content of a keep_dtype list, NULL none */
  const char *stop_at;
  bool framework_tf; /* no external data then */
};
void talk_submit(struct talk *t, const struct ask *a);
/* Submits and waits for Finished. */
const Omcc__V1__Finished *talk_ask(struct talk *t, const struct ask *a);
/* The bytes of the artifact of the last Finished, NUL behind; "" when there is none. */
const char *talk_artifact(struct talk *t);
void talk_stop(struct talk *t, bool now);
/* A counter of status, by name. */
uint64_t talk_counter(struct talk *t, const char *name);
/* Waits (up to TALK_MS) until a counter has this value. */
/* Until so many workers have been forked ahead and wait. */
void talk_await_workers(struct talk *t, size_t n);
void talk_await(struct talk *t, const char *name, uint64_t value);

#endif
