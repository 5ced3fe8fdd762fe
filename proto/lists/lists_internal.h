/* Lines of a list file, and the checks that all four formats share. */
#ifndef OC_LISTS_LISTS_INTERNAL_H
#define OC_LISTS_LISTS_INTERNAL_H

#include "lists/lists.h"

/* What was seen while cutting a file into lines. */
struct oc_lines {
  const char *p;
  const char *end;
  uint32_t line;  /* of the line returned last, 1-based */
  bool cut_at_cr; /* a bare CR ends a line, too */
  bool bare_cr;   /* one was seen */
  bool no_final_newline;
};

/* Checks size, UTF-16, NUL bytes and UTF-8 and skips a byte-order mark (`ret_bom`). With
 * OC_LISTS_VENDOR only the size is looked at. OC_E_FORMAT with a finding otherwise. */
int oc_lines_open(struct oc_lines *l, const char *flag, const void *bytes, size_t len,
                  unsigned flags, struct oc_findings *fs, bool *ret_bom);
/* The next line without its end; false behind the last one. */
bool oc_lines_next(struct oc_lines *l, struct oc_str *ret);
/* An upper bound of the lines that will come. */
size_t oc_lines_count(const struct oc_lines *l);

/* Sets the place of a finding. */
void oc_list_place(struct oc_finding *f, const char *flag, uint32_t line, uint32_t entry);
/* Notes about tolerances; `n` as text. */
void oc_list_note(struct oc_findings *fs, enum oc_finding_id id, const char *flag,
                  uint32_t n);
/* A slice as a NUL-terminated copy, shortened to 200 bytes, for findings. */
const char *oc_list_show(struct oc_arena *a, struct oc_str s);
bool oc_list_blank(struct oc_str s);

/* mix_check.c: the allowed operations on one type; the finding when they are not. */
int oc_mix_check(const struct oc_mix_list *l, struct oc_findings *fs);
const char *oc_mix_list_name(enum oc_mix_list_kind k); /* "black-list" */

#endif
