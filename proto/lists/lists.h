/* The four list files of precision control: text in, entries with places out. No graph
 * here.
 *
 * keep_dtype            one op name or `OpType::<type>` per line
 * customize_dtypes      `<name>:InputDtype:<list>,OutputDtype:<list>`
 * modify_mixlist        JSON {"white-list": {"to-add": [...], "to-remove": [...]}, ...}
 * op_precision_mode     ini with [ByOpType] and [ByNodeName]
 *
 * Everything lives in the caller's arena, except that texts are slices of the bytes
 * given, which must live as long as the list. A mistake of the user is a finding with
 * flag and line; the functions then return OC_E_FORMAT and leave no list. Findings carry
 * the vendor's code. Entries are numbered from 1 in file order: that number is the
 * "canonical entry" of findings and reports, and whoever parses the same bytes gets the
 * same numbers. Rules: the vendor's option pages and the public parsers. */
#ifndef OC_LISTS_LISTS_H
#define OC_LISTS_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/finding.h"
#include "base/map.h"
#include "base/str.h"

enum oc_lists_flags {
  /* Read exactly as the vendor's parser does: no byte-order mark, comment or blank-line
   * tolerance. Used where behaviour is compared, never for users. */
  OC_LISTS_VENDOR = 1,
};

/* ---- keep_dtype */

/* What a line that is formally an op name looks like. */
enum oc_keep_slip {
  OC_KEEP_SLIP_NONE,
  OC_KEEP_SLIP_PREFIX_CASE, /* Optype::X, optype::X */
  OC_KEEP_SLIP_ONE_COLON,   /* OpType:X */
  OC_KEEP_SLIP_BLANK,       /* OpType:: X, OpType ::X */
};

struct oc_keep_entry {
  struct oc_str text; /* the trimmed line */
  struct oc_str name; /* op name, or the type behind `OpType::` */
  bool by_type;
  bool comment; /* begins with '#': an op name only if an op has exactly this name */
  enum oc_keep_slip slip;
  struct oc_str meant; /* with a slip: the corrected line, "OpType::X" */
  uint32_t line;
};

struct oc_keep_list {
  struct oc_keep_entry *entries;
  uint32_t n;
  bool had_bom;
  bool had_cr;
  uint32_t n_blank_lines; /* lines of blanks only, dropped */
  uint32_t n_comments;
  bool no_final_newline;
};

int oc_keep_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                  struct oc_findings *fs, struct oc_keep_list **ret);
/* Canonical bytes: every entry's text and a newline. Equal for files that differ only in
 * line ends, byte-order mark and blank lines. Comments are in it (they might be names).
 */
int oc_keep_canonical(const struct oc_keep_list *l, struct oc_buf *out);
/* What a backend gets: the same without the comments that `is_name` refuses (NULL: all).
 */
int oc_keep_backend_text(const struct oc_keep_list *l,
                         bool (*is_name)(void *arg, const struct oc_keep_entry *e),
                         void *arg, struct oc_buf *out);

/* ---- customize_dtypes */

struct oc_custom_entry {
  struct oc_str text; /* the line without its end */
  struct oc_str name;
  bool by_type;
  bool ignored; /* an earlier entry has the same key */
  bool comment; /* begins with '#': an entry only if an op has exactly this name */
  uint32_t line;
  const enum oc_dtype *inputs; /* OC_DT_UNDEFINED = do not care */
  uint32_t n_inputs;
  const enum oc_dtype *outputs;
  uint32_t n_outputs;
};

struct oc_custom_list {
  struct oc_custom_entry *entries;
  uint32_t n;
  uint32_t n_blank_lines;
  uint32_t n_comments;   /* dropped ones: lines with '#' that are no entries */
  struct oc_map by_name; /* name -> entry; backed by malloc, see oc_custom_clear */
  struct oc_map by_type;
};

int oc_custom_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                    struct oc_findings *fs, struct oc_custom_list **ret);
void oc_custom_clear(struct oc_custom_list *l); /* NULL is fine */
/* By node name, else by type; NULL when neither. */
const struct oc_custom_entry *oc_custom_find(const struct oc_custom_list *l,
                                             const char *name, const char *type);
int oc_custom_canonical(const struct oc_custom_list *l, struct oc_buf *out);

/* ---- modify_mixlist */

enum oc_mix_list_kind { OC_MIX_BLACK, OC_MIX_WHITE, OC_MIX_GRAY };

struct oc_mix_entry {
  const char *type;
  enum oc_mix_list_kind list;
  bool remove; /* false: to-add */
  uint32_t line;
};

/* All operations on one type, bits 1 << kind. */
struct oc_mix_type {
  const char *type;
  unsigned add;
  unsigned remove;
  uint32_t entry; /* first entry that names it */
};

struct oc_mix_list {
  struct oc_mix_entry *entries;
  uint32_t n;
  struct oc_mix_type *types; /* in byte order of the name */
  uint32_t n_types;
  struct oc_map by_type; /* type -> oc_mix_type */
};

int oc_mix_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                 struct oc_findings *fs, struct oc_mix_list **ret);
void oc_mix_clear(struct oc_mix_list *l);
const struct oc_mix_type *oc_mix_find(const struct oc_mix_list *l, const char *type);
/* JSON in a fixed order. */
int oc_mix_canonical(const struct oc_mix_list *l, struct oc_buf *out);

/* ---- op_precision_mode */

struct oc_impl_entry {
  struct oc_str key;
  struct oc_str mode;
  bool by_name;
  bool ignored; /* the key was set before, or the mode is unknown */
  uint32_t line;
};

struct oc_impl_list {
  struct oc_impl_entry *entries;
  uint32_t n;
};

int oc_impl_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                  struct oc_findings *fs, struct oc_impl_list **ret);
int oc_impl_canonical(const struct oc_impl_list *l, struct oc_buf *out);

#endif
