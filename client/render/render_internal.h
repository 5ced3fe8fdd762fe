/* What the files of this module share. */
#ifndef OC_RENDER_INTERNAL_H
#define OC_RENDER_INTERNAL_H

#include "render/render.h"

/* Columns that a UTF-8 text takes on a terminal, counting one per character. */
size_t oc_render_columns(const char *text);
/* `text` in exactly `width` columns: padded with blanks, or cut with "..." at its end. */
int oc_render_cell(const char *text, size_t width, struct oc_buf *out);

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

/* Drops the last `n` bytes. */
static inline void oc_render_cut(struct oc_buf *out, size_t n)
{
  if (out->len < n)
    return;
  out->len -= n;
  out->data[out->len] = '\0';
}

#endif
