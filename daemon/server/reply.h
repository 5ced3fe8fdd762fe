/* One Finished in the making: who answers fills it, reply_send lets it go.
 *
 * Everything that is filled in must live until reply_send. */
#ifndef OMCC_SERVER_REPLY_H
#define OMCC_SERVER_REPLY_H

#include "server/server_internal.h"

struct reply {
  Omcc__V1__Finished f;
  Omcc__V1__Member members[OC_MAX_MEMBERS];
  Omcc__V1__Member *list[OC_MAX_MEMBERS];
  int fds[OC_MAX_MEMBERS]; /* one per member, -1: inline; not owned */
  size_t n_members;
  int report_fd; /* not owned, -1: no report, or one in `f` */
  int own_fd;    /* a report that was made for this reply */
  uint64_t bytes;
};

/* What every answer to `r` says; `o` may be NULL. */
void reply_init(struct reply *p, const struct order *o, const struct request *r);
/* Bytes as a descriptor, or inline where `fd` is negative. False: more members than a
 * result can have. */
bool reply_add_member(struct reply *p, const Omcc__V1__Member *m, int fd);
void reply_add_report(struct reply *p, int fd);
/* Small reports are stored inline; they travel as a file all the same, unless the request
 * allows otherwise. */
void reply_add_report_bytes(struct reply *p, const struct request *r, const void *data,
                            uint64_t size);
/* The request's findings, and those of worker and runner. */
void reply_add_findings(struct reply *p, struct request *r, const struct order *o);
void reply_set_status(struct reply *p, unsigned status, const char *message);
/* Nothing of the result is delivered: it is larger than results can be. */
void reply_too_many(struct reply *p);
/* Sends, and forgets the request. */
void reply_send(struct oc_server *s, struct reply *p, struct request *r);

#endif
