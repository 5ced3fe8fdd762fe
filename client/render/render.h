/* Reports and findings as text and JSON. Nothing else renders.
 *
 * Every function appends to a capped buffer and returns 0 or OC_E_NOMEM. Places: findings
 * and reasons name canonical list entries; oc_places, filled by whoever holds the
 * requester's own files, turns them into file and line. Texts are English; op names and
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
/* File and line of a canonical entry; false when nobody knows. */
bool oc_places_find(const struct oc_places *p, const char *flag, uint32_t entry,
                    const char **ret_file, uint32_t *ret_line);

struct oc_style {
  unsigned width; /* columns, 0 = 80 */
  bool wide;      /* no eliding, all columns */
  bool color;
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

/* JSON: the fixed frame {schema, ok, code, message, findings, data}. Begin writes all up
 * to `data` and opens it as an object; the caller writes members and ends. `schema` is
 * "omcc.explain/1" and so on. */
void oc_render_json_begin(struct oc_json_writer *w, const char *schema, int status,
                          const char *code, const char *message,
                          const struct oc_findings *fs, const struct oc_places *places);
void oc_render_json_end(struct oc_json_writer *w);
/* Members of explain's data: mode, table, ops, lists, casts. `places` may be NULL. */
void oc_render_json_report(struct oc_json_writer *w, const Omcc__V1__Report *r,
                           const struct oc_places *places);

/* "51.2 MB", "0.04 s", "6 min 12 s". */
int oc_render_size(uint64_t bytes, struct oc_buf *out);
int oc_render_duration(uint64_t ms, struct oc_buf *out);
/* Text of others for a terminal: control bytes become '?'. */
int oc_render_plain(const char *text, struct oc_buf *out);

#endif
