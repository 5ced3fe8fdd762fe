/* What the parts of a channel share: receive.c fills `in` and `fifo`, send.c empties
 * `out`. */
#ifndef OC_FRAME_FRAME_INTERNAL_H
#define OC_FRAME_FRAME_INTERNAL_H

#include "frame/frame.h"

/* Reading stops at the first complete frame, so at most the descriptors of one frame that
 * is still incomplete and of the one behind it are here. */
#define OC_CHANNEL_FIFO (2 * OC_MAX_FRAME_FDS)

/* One frame on its way out, header included. */
struct oc_outgoing {
  struct oc_outgoing *next;
  size_t len;
  size_t sent;
  int fds[OC_MAX_FRAME_FDS];
  size_t n_fds;
  uint8_t bytes[];
};

struct oc_channel {
  int fd;
  int read_broken;  /* OC_E_... once reading has failed */
  int write_broken; /* the same for writing; a peer that only closed its end may still be
                       read */
  struct oc_buf in;
  size_t taken; /* bytes at the front of `in` that belong to frames already given out */
  int fifo[OC_CHANNEL_FIFO];
  size_t n_fifo;
  struct oc_outgoing *out;
  struct oc_outgoing **out_end;
  size_t queued; /* bytes in `out` not yet sent */
  size_t write_cap;
};

struct oc_frame_header {
  uint8_t n_fds;
  uint32_t len;
};

void oc_frame_put_header(uint8_t *to, size_t len, size_t n_fds);
/* Reads and checks OC_FRAME_HEADER bytes. 0 or OC_E_PROTO. */
int oc_frame_get_header(const uint8_t *from, struct oc_frame_header *ret,
                        struct oc_error *err);

/* 1: a complete frame (or a header that will be refused) is buffered. */
bool oc_channel_has_frame(const struct oc_channel *c);
/* Remembers that reading is over and closes the descriptors nobody will get. */
int oc_channel_break_read(struct oc_channel *c, int code);
void oc_outgoing_free(struct oc_outgoing *o);

#endif
