/* A server of one's own for a test: in a thread, on a real socket, with a fake worker. */
#ifndef TEST_SERVER_HOUSE_H
#define TEST_SERVER_HOUSE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/server.h"

struct house {
  char dir[64];
  char socket[96], cache[96], tables[96], toolkit[96];
  char worker[1024];
  struct oc_log log;
  struct oc_server_options options;
  struct oc_server *server;
  unsigned long thread;
  bool running;
};

extern struct house house;

/* Fills the directory and the options; tests may change these before house_open(). */
void house_setup(void);
void house_open(void);
/* Stops (through the protocol, unless it has stopped), joins, checks for an empty loop.
 */
void house_close(void);
void house_teardown(void);
/* Descriptors of this process (server and test are one) once they have come to rest. */
size_t house_fds(void);
/* Waits until there are no more of them than that. */
void house_await_fds(size_t most);
/* Waits for the server's own end. */
void house_join(void);
/* A file in the directory; returns its path (valid for the next fifteen calls). */
const char *house_file(const char *name, const char *text);
/* The same, for a worker that does not go on to build before house_open_gate(): whatever
 * is to happen meanwhile does, however slow the machine is. `text` follows. */
const char *house_gated(const char *name, const char *text);
void house_open_gate(void);
/* A toolkit that oc_toolkit_find accepts, named in the options. */
void house_toolkit(void);

#endif
