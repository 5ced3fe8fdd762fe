/* What the files of this module share. */
#ifndef OC_RENDER_INTERNAL_H
#define OC_RENDER_INTERNAL_H

#include "render/render.h"

/* Columns that a UTF-8 text takes on a terminal, counting one per character. */
size_t oc_render_columns(const char *text);
/* `text` in exactly `width` columns: padded with blanks, or cut with "..." at its end, or
 * in its middle when the end has to stay. */
int oc_render_cell(const char *text, size_t width, bool keep_end, struct oc_buf *out);

/* The tensor that stands for an op in one line: its first floating point output, else its
 * first floating point input, else its first tensor; NULL when it has none. */
const Omcc__V1__Tensor *oc_render_main_tensor(const Omcc__V1__Op *op);
/* Ops that are judged (not graph nodes such as Data and Const). */
bool oc_render_is_compute(const Omcc__V1__Op *op);
/* Text of a list entry in the report, "" when it is not there. */
const char *oc_render_entry_text(const Omcc__V1__Report *r, const char *flag,
                                 uint32_t entry);
/* "file:line ", or nothing when nobody knows. */
int oc_render_place(const struct oc_places *places, const char *flag, uint32_t entry,
                    struct oc_buf *out);

/* A template per rule; {mode}, {line} and the reason's arguments are filled in. A rule
 * that `table` does not have is shown by its name. */
struct oc_render_rule {
  const char *name, *text;
};
int oc_render_rule(const struct oc_render_rule *table, size_t n,
                   const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                   const struct oc_places *places, struct oc_buf *out);
/* A dtype as JSON spells it; "undefined" for numbers out of range. */
const char *oc_render_dtype(uint32_t d);
/* The rule's own sentence, longer than oc_render_reason's phrase. */
int oc_render_sentence(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                       const struct oc_places *places, struct oc_buf *out);

/* How often each word occurs among the computed ops, the most frequent first. */
#define OC_RENDER_MOST_COUNTS 64
struct oc_render_count {
  const char *name;
  unsigned n;
};
struct oc_render_counts {
  struct oc_render_count items[OC_RENDER_MOST_COUNTS];
  size_t n;
};
enum oc_render_by {
  OC_RENDER_BY_DTYPE,
  OC_RENDER_BY_RULE,
  OC_RENDER_BY_ENGINE,
  OC_RENDER_BY_SURE
};
void oc_render_count(const Omcc__V1__Report *r, enum oc_render_by by,
                     struct oc_render_counts *ret);
void oc_render_json_totals(struct oc_json_writer *w, const Omcc__V1__Report *r);

struct oc_render_phrase_row {
  const char *en, *zh;
};
extern const struct oc_render_phrase_row oc_render_phrases[];
extern const size_t oc_render_n_phrases;

/* An argument that is prose, in Chinese; any other text as it is (phrases.c). */
int oc_render_phrase(const char *text, struct oc_buf *out);

/* Drops the last `n` bytes. */
static inline void oc_render_cut(struct oc_buf *out, size_t n)
{
  if (out->len < n)
    return;
  out->len -= n;
  out->data[out->len] = '\0';
}

#endif
