/* Targets of the op tables. The zygote has parsed the tables and says once what it
 * found; who asks earlier waits for it, since a daemon that was just started would
 * otherwise answer that there are none. */
#include "server/server_internal.h"

#include <stdio.h>

#define MOST_WAITERS 64

static void give(struct session *c, uint64_t id)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  const struct oc_buf *b = &c->srv->socs;
  struct oc_error err = { 0 };
  struct oc_arena arena;
  ProtobufCMessage *socs = NULL;

  oc_arena_init(&arena, oc_message_cap(b->len));
  if (oc_message_unpack(&omcc__v1__socs__descriptor, b->data, b->len, &arena, &socs,
                        &err)) {
    session_refuse(c, id, "busy", "the daemon is short of memory", OC_STATUS_DAEMON);
  } else {
    m.id = id;
    m.body_case = OMCC__V1__TO_CLIENT__BODY_SOCS;
    m.socs = (Omcc__V1__Socs *)socs;
    session_send(c, &m, NULL, 0);
  }
  oc_arena_clear(&arena);
}

static void refuse(struct session *c, uint64_t id)
{
  bool request = tables_are_to_blame(c->srv);

  session_refuse(c, id, request ? "request" : "environment", c->srv->tables_error,
                 request ? OC_STATUS_REQUEST : OC_STATUS_ENVIRONMENT);
}

int socs_take(struct oc_server *s, const Omcc__V1__Ready *ready)
{
  Omcc__V1__Socs socs = OMCC__V1__SOCS__INIT;
  int rc;

  socs.socs = ready->targets;
  socs.n_socs = ready->n_targets;
  snprintf(s->tables_error, sizeof(s->tables_error), "%s", ready->error);
  oc_buf_clear(&s->socs); /* of a zygote before this one */
  oc_buf_init(&s->socs, OC_MAX_FRAME);
  rc = oc_message_pack(&socs, &s->socs);
  for (size_t i = 0; i < s->n_socs_waiters; i++) {
    struct session *c = server_session(s, s->socs_waiters[i].session);

    if (c && *s->tables_error)
      refuse(c, s->socs_waiters[i].request);
    else if (c)
      give(c, s->socs_waiters[i].request);
  }
  s->n_socs_waiters = 0;
  return rc;
}

void socs_answer(struct session *c, uint64_t id)
{
  struct oc_server *s = c->srv;

  if (*s->tables_error) {
    refuse(c, id);
    return;
  }
  if (s->socs.len) {
    give(c, id);
    return;
  }
  if (!s->socs_waiters)
    s->socs_waiters = OC_NEW_N(&s->arena, struct oc_waiter, MOST_WAITERS);
  if (!s->socs_waiters || s->n_socs_waiters == MOST_WAITERS)
    session_refuse(c, id, "busy", "the daemon has too many questions, try again",
                   OC_STATUS_DAEMON);
  else
    s->socs_waiters[s->n_socs_waiters++] = (struct oc_waiter){ c->id, id };
}
