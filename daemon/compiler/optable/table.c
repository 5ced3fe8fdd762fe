/* One family's table: lookups, the columns for a layout, and the words of its enums. */
#include "optable_internal.h"

#include <stdarg.h>
#include <stdio.h>

const char *oc_policy_name(enum oc_policy p)
{
  static const char *const names[] = { "gray", "white", "black" };
  return names[p];
}

enum oc_table_format oc_table_format_parse(const char *word)
{
  static const struct {
    const char *name;
    enum oc_table_format format;
  } rows[] = {
    { "ND", OC_TF_ND },
    { "NCHW", OC_TF_NCHW },
    { "NHWC", OC_TF_NHWC },
    { "HWCN", OC_TF_HWCN },
    { "NCDHW", OC_TF_NCDHW },
    { "NDHWC", OC_TF_NDHWC },
    { "DHWCN", OC_TF_DHWCN },
    { "NC1HWC0", OC_TF_NC1HWC0 },
    { "NC1HWC0_C04", OC_TF_NC1HWC0_C04 },
    { "NDC1HWC0", OC_TF_NDC1HWC0 },
    { "FRACTAL_Z", OC_TF_FRACTAL_Z },
    { "FRACTAL_Z_C04", OC_TF_FRACTAL_Z_C04 },
    { "FRACTAL_Z_3D", OC_TF_FRACTAL_Z_3D },
    { "FRACTAL_NZ", OC_TF_FRACTAL_NZ },
  };

  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (oc_streq(rows[i].name, word))
      return rows[i].format;
  return OC_TF_OTHER;
}

int oc_table_put(struct oc_table *t, const struct oc_table_op *op)
{
  return oc_map_puts(&t->ops, op->type, (void *)(uintptr_t)op);
}

void oc_table_note(struct oc_optable *t, struct oc_table *table, const char *fmt, ...)
{
  char text[512];
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  const char *both = table->used ? oc_arena_printf(&t->arena, "%s, %s", table->used, text)
                                 : oc_arena_strdup(&t->arena, text);
  if (both)
    table->used = both;
}

void oc_table_clear(struct oc_table *t)
{
  oc_map_clear(&t->ops);
}

const struct oc_table_op *oc_table_find(const struct oc_table *t, const char *type)
{
  return t ? oc_map_gets(&t->ops, type) : NULL;
}

const struct oc_table_variant *oc_table_variant_for(const struct oc_table_op *op,
                                                    unsigned layout)
{
  for (uint32_t i = 0; i < op->n_variants; i++)
    if (op->variants[i].layouts & layout)
      return &op->variants[i];
  return op->variants; /* a layout nobody evaluated: the usual columns */
}

bool oc_retype_applies(const struct oc_retype *r, const char *table_id)
{
  return oc_word_in(r->tables, table_id);
}

bool oc_retype_inferred(const struct oc_retype *r)
{
  return oc_starts_with(r->source, "inferred");
}
