/* Findings: something to tell the user.
 *
 * A finding has a stable id from schema/findings.yaml (which gives the severity, the
 * vendor's code, the text and the fix as templates with named arguments), arguments, a
 * subject and a place. Whoever finds something records id and arguments; only
 * client/render turns them into sentences.
 *
 * Places: `flag` names the option ("keep_dtype"), `entry` is the number of the canonical
 * list entry (0 = none, 1 = first). Whoever holds the requester's own file maps the entry
 * to file and line; until then `file` is empty. For bad input files `file` is the name
 * the user gave and `line` its line. */
#ifndef OC_BASE_FINDING_H
#define OC_BASE_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* Generated from schema/findings.yaml: enum oc_finding_id { OC_FINDING_<ID>... ,
 * OC_FINDING_COUNT }. */
#include "base/finding_ids.h"

enum oc_severity { OC_SEV_NOTE, OC_SEV_WARNING, OC_SEV_ERROR };

/* What the register knows of one id. Texts hold {name} for arguments and {subject}. */
struct oc_finding_info {
  const char *id; /* "keep-unmatched" */
  enum oc_severity severity;
  const char *vendor_code; /* "E10056", "" when the vendor has none */
  const char *text;
  const char *fix;              /* "" when there is none to give */
  const char *text_zh, *fix_zh; /* the same in Chinese, "" when nobody wrote it */
};

struct oc_finding_arg {
  const char *name;
  const char *value;
};

struct oc_finding {
  enum oc_finding_id id;
  enum oc_severity severity; /* the register's, unless raised (--strict-lists) */
  const char *subject;       /* op, flag, type or file; "" when none */
  const char *flag;          /* "keep_dtype", "" when none */
  const char *file;          /* "" when unknown */
  uint32_t line;             /* 1-based, 0 when unknown */
  uint32_t entry;            /* canonical list entry, 1-based, 0 when none */
  const struct oc_finding_arg *args;
  size_t n_args;
};

/* Grows in `arena`; all strings are copied there. */
struct oc_findings {
  struct oc_arena *arena;
  struct oc_finding *items;
  size_t n;
  size_t room;
};

void oc_findings_init(struct oc_findings *fs, struct oc_arena *arena);

/* Adds a finding; `...` is name, value pairs of const char * ended by NULL. Returns the
 * new finding so that the caller can fill the place, or a static dummy when memory is
 * short (fs->arena->failed is then set). */
struct oc_finding *oc_finding_add(struct oc_findings *fs, enum oc_finding_id id,
                                  const char *subject, ...) __attribute__((sentinel));

/* The same with the arguments in an array (they are copied too). */
struct oc_finding *oc_finding_add_args(struct oc_findings *fs, enum oc_finding_id id,
                                       const char *subject,
                                       const struct oc_finding_arg *args, size_t n_args);

bool oc_findings_have_errors(const struct oc_findings *fs);
size_t oc_findings_count(const struct oc_findings *fs, enum oc_severity at_least);

const struct oc_finding_info *oc_finding_info(enum oc_finding_id id);
/* By id text ("keep-unmatched"); false when the register does not have it. */
bool oc_finding_by_name(const char *id, enum oc_finding_id *ret);
const char *oc_severity_name(enum oc_severity s); /* "note" "warning" "error" */

/* Fills a template of the register ({subject}, {name}...) into `out`. An argument that
 * is missing stays as {name}, so that a test can see it. */
int oc_finding_format(const char *tmpl, const struct oc_finding *f, struct oc_buf *out);

#endif
