/* Reports and findings as text and JSON. Nothing else renders.
 *
 * Every function appends to a capped buffer and returns 0 or OC_E_NOMEM. Places: findings
 * and reasons name canonical list entries; oc_places, filled by whoever holds the
 * requester's own files, turns them into file and line. Findings are
 * shown in English or Chinese, everything else in English; op names and
 * file names are shown byte for byte except control characters. */
#ifndef OC_RENDER_RENDER_H
#define OC_RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/finding.h"
#include "base/json.h"
#include "messages/messages.h"

/* Canonical entries of one list flag: lines[entry - 1] is the line in `file`. */
struct oc_place_list {
  const char *flag;
  const char *file;
  const uint32_t *lines;
  size_t n;
};
struct oc_places {
  const struct oc_place_list *lists;
  size_t n;
};
/* File and line of a canonical entry; with entry 0 the file alone, the line stays as it
 * was (a list with a mistake has no entries, but lines). False when nobody knows. */
bool oc_places_find(const struct oc_places *p, const char *flag, uint32_t entry,
                    const char **ret_file, uint32_t *ret_line);

struct oc_style {
  unsigned width; /* columns, 0 = 80 */
  bool wide;      /* no eliding, all columns */
  bool color;
  bool zh;                        /* findings in Chinese */
  bool no_notes;                  /* lists of findings leave out notes */
  const struct oc_places *places; /* may be NULL */
};

/* `warning: keep.cfg:3: no op named '/b0/conv/Con' ...` and an indented `fix:` line. */
int oc_render_finding(const struct oc_finding *f, const struct oc_style *style,
                      struct oc_buf *out);
int oc_render_findings(const struct oc_findings *fs, const struct oc_style *style,
                       struct oc_buf *out);

/* explain: headline, list section, summary, table. */
int oc_render_headline(const Omcc__V1__Report *r, struct oc_buf *out);
int oc_render_lists(const Omcc__V1__Report *r, const struct oc_style *style,
                    struct oc_buf *out);
int oc_render_summary(const Omcc__V1__Report *r, struct oc_buf *out);
int oc_render_table(const Omcc__V1__Report *r, const struct oc_style *style,
                    struct oc_buf *out);
/* The sentence of one reason ("keep.cfg:1 OpType::Relu"). `r` gives mode and list texts.
 */
int oc_render_reason(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                     const struct oc_places *places, struct oc_buf *out);

/* Ops per dtype and per deciding rule, one line each. */
int oc_render_totals(const Omcc__V1__Report *r, struct oc_buf *out);
/* The table's row of one op and everything that led to it, a sentence each, ending with
 * the next step. */
int oc_render_chain(const Omcc__V1__Report *r, const Omcc__V1__Op *op,
                    const struct oc_style *style, struct oc_buf *out);
/* The two halves of the next step, without line ends. */
int oc_render_next_keep(const Omcc__V1__Op *op, struct oc_buf *out);
int oc_render_next_customize(const Omcc__V1__Op *op, struct oc_buf *out);
/* A customize_dtypes line that asks for the model's own dtypes. */
int oc_render_customize_line(const Omcc__V1__Op *op, struct oc_buf *out);

/* ---- choosing rows. A filter is `KEY=VALUE` with the key name, type, engine, rule,
 * dtype or sure, or a bare word that name or type holds; * and ? are wildcards. */
bool oc_render_filter_ok(const char *filter);
bool oc_render_matches(const Omcc__V1__Op *op, const char *filter);
/* By its name or an original name; NULL when no op has it. */
const Omcc__V1__Op *oc_render_op(const Omcc__V1__Report *r, const char *name);
const char *oc_render_nearest_op(const Omcc__V1__Report *r, const char *name,
                                 struct oc_arena *arena);
/* The same report with fewer ops (filter NULL: all, only NULL: all), in `arena`. */
Omcc__V1__Report *oc_render_pick(const Omcc__V1__Report *r, const char *filter,
                                 const Omcc__V1__Op *only, struct oc_arena *arena);

/* ---- names of a model (omcc ops) */
int oc_render_names(const Omcc__V1__Report *r, const char *type, struct oc_buf *out);
void oc_render_json_names(struct oc_json_writer *w, const Omcc__V1__Report *r,
                          const char *type);

/* ---- two reports. Ops belong together by name; those whose dtypes or engine differ are
 * listed by type. */
enum oc_change { OC_CHANGE_DTYPE, OC_CHANGE_GONE, OC_CHANGE_NEW };
struct oc_op_change {
  enum oc_change what;
  const Omcc__V1__Op *a, *b; /* NULL: not there */
};
struct oc_diff {
  struct oc_op_change *ops; /* by type, then in the order of the graphs */
  size_t n;
};
int oc_render_compare(const Omcc__V1__Report *a, const Omcc__V1__Report *b,
                      struct oc_arena *arena, struct oc_diff *ret);
int oc_render_diff(const struct oc_diff *d, struct oc_buf *out);
void oc_render_json_diff(struct oc_json_writer *w, const struct oc_diff *d);

/* ---- the precision lock: one line per op and per list line without effect, sorted, for
 * version control. */
int oc_render_lock(const Omcc__V1__Report *r, struct oc_buf *out);
/* Holds a lock against a report; every difference is a finding. 0, OC_E_FORMAT (a finding
 * says where) or OC_E_NOMEM. */
int oc_render_check_lock(const char *text, size_t len, const char *file,
                         const Omcc__V1__Report *r, struct oc_findings *fs);

/* JSON: the fixed frame {schema, ok, code, message, findings, data}. Begin writes all up
 * to `data` and opens it as an object; the caller writes members and ends. `schema` is
 * "omcc.explain/1" and so on. */
void oc_render_json_begin(struct oc_json_writer *w, const char *schema, int status,
                          const char *code, const char *message,
                          const struct oc_findings *fs, const struct oc_places *places);
void oc_render_json_end(struct oc_json_writer *w);
/* Members of explain's data: mode, table, ops, lists, casts, summary. `places` may be
 * NULL. `shown` holds the ops to list (oc_render_pick), the totals are of `r`. `chains`:
 * every tensor with all its reasons. */
void oc_render_json_report(struct oc_json_writer *w, const Omcc__V1__Report *r,
                           const Omcc__V1__Report *shown, bool chains,
                           const struct oc_places *places);

/* The member `lists` alone. */
void oc_render_json_lists(struct oc_json_writer *w, const Omcc__V1__Report *r,
                          const struct oc_places *places);

/* "51.2 MB", "0.04 s", "6 min 12 s". */
int oc_render_size(uint64_t bytes, struct oc_buf *out);
int oc_render_duration(uint64_t ms, struct oc_buf *out);
/* Text of others for a terminal: control bytes become '?'. */
int oc_render_plain(const char *text, struct oc_buf *out);

#endif
