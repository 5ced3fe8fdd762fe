/* The parts of the stand-in compiler.
 *
 * Knobs come from the environment or, where that is not passed on, from lines NAME=value
 * in `fake-atc.conf` in the toolkit's directory (the environment wins):
 *
 *   FAKE_SLEEP_MS    work that long, with a worker process beside
 *   FAKE_GATE        work until this file is there, with a worker process beside
 *   FAKE_RSS_MB      touch that much memory before working
 *   FAKE_KILL        raise this signal after the work
 *   FAKE_EXIT        end with this status and the failure line
 *   FAKE_STDERR      file whose text goes to stderr
 *   FAKE_STDOUT      file whose text goes to stdout, after the failure line when there is
 *                    one
 *   FAKE_NONDET      add bytes that no other run has
 *   FAKE_SIZE        bytes of weights in the output (65536)
 *   FAKE_WEIGHT_FILES files of weights that --external_weight=1 writes (1)
 *   FAKE_DYNAMIC     the output is called <output>_linux_x86_64.om
 *   FAKE_NO_OUTPUT   succeed without writing a file
 *   FAKE_STRAY       the worker leaves the process group and outlives the compiler
 *   FAKE_OPMAP       JSON file of the ops the output has: [{"name", "type", "dtype",
 *                    "orig": the model's dtype, "origins": [names of the model's ops]}],
 *                    to imitate fusion
 *   FAKE_COMPRESS    write the ops' attributes compressed
 *   FAKE_FLAG        a flag that this tool knows and omcc's table does not
 *   FAKE_COUNT_FILE  append one line per run */
#ifndef OC_FAKE_ATC_H
#define OC_FAKE_ATC_H

#include <stddef.h>
#include <stdint.h>

#include "flags/flags.h"

/* knobs.c. `conf` is read once; values live as long as the program. */
void knobs_load(const char *conf);
const char *knob(const char *name); /* NULL when not set or empty */
long knob_number(const char *name, long other);

/* work.c: takes time and memory, leaves droppings in the working directory. */
void work(void);
void print_file(int fd, const char *path);

/* write_om.c: the .om (or other result) of a run. 0 or -1 with a message on stderr. */
int write_result(const struct oc_flags *flags, int argc, char **argv);

/* op_map.c: ops of FAKE_OPMAP, with ids from `first` on; none without it. -1 with a
 * message on stderr when the file is not as it should be. */
struct oc_arena;
struct oc_om_op;
int op_map_read(struct oc_arena *arena, int64_t first, struct oc_om_op **ret,
                uint32_t *ret_n);

/* compress.c: replaces the ops' attributes by compressed ones; `ret` gets COMPRESS_ATTRS
 * dictionaries for the model's attributes. 0 or -1. */
enum { COMPRESS_ATTRS = 4 };
struct oc_om_graph;
struct oc_om_attr;
int compress_attrs(struct oc_arena *arena, struct oc_om_graph *g, struct oc_om_attr *ret);

#endif
