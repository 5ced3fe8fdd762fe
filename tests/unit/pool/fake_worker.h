/* The script that a fake worker follows is its model file, one word and its value per
 * line:
 *
 *   needs NAME          one external data file
 *   plankey C           plan key of 32 times this character (without: none)
 *   notok               the plan forbids Build
 *   unplanned ID        cannot be planned, with one finding
 *   fail CODE           Failed with this code instead of Built
 *   artifact TEXT       what is written behind the magic
 *   die PLACE           abort at PLACE: plan, build, run
 *   dieonce PLACE PATH  the same, unless the file PATH exists; makes it
 *   exit PLACE N        leaves with this status
 *   sleep PLACE MS
 *   gate PLACE PATH    waits until the file is there
 *   stderr TEXT         said before anything else
 *   wrongsize           Built names another size
 *   say TEXT            runner: a line on stdout
 *   status N            runner: exit status of the compiler
 *   side NAME TEXT      runner: one more file */
#ifndef TEST_POOL_FAKE_WORKER_H
#define TEST_POOL_FAKE_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct script {
  char text[8192];
};

/* Reads the whole of `fd`. */
void script_read(struct script *s, int fd);
/* The `nth` line that begins with `word`: what follows it, NULL when there is none. Valid
 * until the next call. */
const char *script_value(const struct script *s, const char *word, int nth);
bool script_has(const struct script *s, const char *word);
/* Dies, leaves or sleeps at `place`, when the script says so. */
void script_place(const struct script *s, const char *place);

#endif
