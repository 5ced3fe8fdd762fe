/* Entries of the cache and differences between requests, as text and as JSON; and the
 * words that only verbs about the cache take. */
#ifndef OC_CLI_ENTRIES_H
#define OC_CLI_ENTRIES_H

#include "cli/cli.h"

void entry_json(struct oc_json_writer *w, const Omcc__V1__CacheEntry *e);
void entry_text(const Omcc__V1__CacheEntry *e, uint64_t now, struct oc_buf *out);
void differences_json(struct oc_json_writer *w, Omcc__V1__Difference *const *list,
                      size_t n);
void differences_text(struct oc_buf *out, Omcc__V1__Difference *const *list, size_t n);

/* ---- care_words.c */

/* What may stand behind a verb of the cache besides its operands. */
struct care_words {
  const char *output;  /* -o, --output */
  const char *toolkit; /* --toolkit */
  uint64_t max_bytes, older_than_s, since_s, pin_s;
  bool has_max, dry_run;
};
/* Takes them out of cli->args, in front of "--". 0, or an exit status with everything
 * said. */
int care_take_words(struct cli *cli, struct care_words *ret);

/* ---- care.c: cache show, get, pin, unpin, verify, rebuild, gc, clear; whence */

#define CARE_SCHEMA "omcc.cache/1"
/* -1 when `what` is no such verb. */
int care_verb(struct cli *cli, const char *what, const struct care_words *words);
/* Asks, and unpacks the answer into cli's arena. 0, or an exit status. */
int care_ask(struct cli *cli, const struct omcc_cache_query *query, struct omcc *c,
             const char *schema, const Omcc__V1__CacheAnswer **ret);
/* A number of a report, and what it is in a person's unit. */
void counter_text(struct oc_buf *text, const Omcc__V1__Counter *c);
/* Says what came; the exit status. */
int care_show(struct cli *cli, const char *schema, const Omcc__V1__CacheAnswer *a);

/* ---- port.c: cache export, import */

/* -1 when `what` is no such verb. */
int port_verb(struct cli *cli, const char *what);

#endif
