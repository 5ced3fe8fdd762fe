/* Plays the daemon's part of worker.proto against the real omcc-worker. Every function
 * fails the running test when the worker does not do its part. */
#ifndef PLAY_DAEMON_H
#define PLAY_DAEMON_H

#include <sys/types.h>

#include "base/arena.h"
#include "frame/frame.h"
#include "messages/messages.h"

struct play {
  pid_t pid; /* the zygote */
  struct oc_channel *zygote;
  struct oc_arena arena; /* every message received */
};

/* Starts omcc-worker and gives it the tables of the source tree. */
void play_start(struct play *p);
/* Closes the zygote's socket and expects it to exit with 0. */
void play_end(struct play *p);
/* Asks for one child and returns its channel after its Hello; `ret_pid` may be NULL. */
struct oc_channel *play_child(struct play *p, pid_t *ret_pid);

void play_tell(struct oc_channel *c, const Omcc__V1__ToWorker *m, const int *fds,
               size_t n);
/* The next answer; descriptors come in `frame`. NULL when the other side has gone. */
Omcc__V1__FromWorker *play_hear(struct play *p, struct oc_channel *c,
                                struct oc_frame *frame);

/* A model of zoogen's, open read-only. `kind` may hold further arguments. */
int play_model(const char *kind);
/* A text as a memfd. */
int play_text(const char *text);

/* One Plan for a child: name=value pairs of flags, NULL-terminated. */
struct play_order {
  const char *const *flags; /* "soc_version", "Ascend310P3", ..., NULL */
  int model;
  int keep; /* -1: no keep_dtype list */
  const char *backend;
  bool explain_only;
};
void play_plan(struct oc_channel *c, const struct play_order *order);
/* The report behind a Planned answer. */
const Omcc__V1__Report *play_report(struct play *p, struct oc_frame *frame);
const Omcc__V1__Op *play_op(const Omcc__V1__Report *r, const char *name);
bool play_found(Omcc__V1__Finding **findings, size_t n, const char *id);

#endif
