/* Reasons as short sentences: one template per rule of the resolver's vocabulary. A list
 * line is cited as file:line and its text; a rule this build does not know is shown by
 * its name. */
#include <string.h>

#include "base/str.h"
#include "render/render_internal.h"

/* {mode} is the effective mode with "(default)" when nobody gave it, {line} the list
 * line. */
static const struct oc_render_rule rules[] = {
  { "graph-op", "not computed: keeps the model's dtype" },
  { "input-option", "--input_fp16_nodes" },
  { "output-option", "--output_type" },
  { "keep", "{line}" },
  { "keep-same", "{line} (the same without it)" },
  { "customize", "{line}" },
  { "dtype-sensitive", "works on dtypes: no mode changes it" },
  { "inherit", "follows its predecessor '{subject}'" },
  { "framework-op", "no kernel: follows as in mixed_float16" },
  { "continuous-input", "shares memory with its producer" },
  { "lowered-with-sibling", "lowered with another tensor of the op" },
  { "mode", "mode {mode}" },
  { "white", "white list of {mode}" },
  { "black", "black list of {mode}" },
  { "gray", "gray: follows '{subject}'" },
  { "mixlist", "{line}: {subject} list (user)" },
  { "cube", "matrix op: float16 first" },
  { "cube-fp16-in", "matrix op: float16 in, float32 out" },
  { "promote", "inputs promoted to {dtype}" },
  { "own-dtype", "own dtype {dtype}" },
  { "follow", "follows '{subject}'" },
  { "follow-through-cast", "follows '{subject}' through a Cast" },
  { "hif8-list", "first of the preference list: {dtype}" },
  { "match", "the table has {dtype}" },
  { "raised", "not in the table: raised to {dtype}" },
  { "lowered", "not in the table: lowered to {dtype}" },
  { "no-match", "no column fits: other tensors decide" },
  { "emptied", "no column left" },
  { "column", "column {column} of the table" },
  { "format", "a format decided between columns" },
  { "only-dtype", "the table has only this dtype" },
  { "aicore-refused", "the AI Core does not take {dtype}" },
  { "aicpu", "AI CPU, with the model's dtype" },
  { "no-engine", "no engine takes it" },
  { "not-in-table", "not in the chip's table" },
  { "unknown", "in no table" },
  { "folded", "pruned before code is generated" },
  { "no-kernel", "no kernel: keeps its dtype" },
  { "cast-inserted", "two ends of an edge differ" },
  { "cast-removed", "opposite Casts cancel" },
};

const char *oc_render_entry_text(const Omcc__V1__Report *r, const char *flag,
                                 uint32_t entry)
{
  for (size_t i = 0; r && i < r->n_lists; i++)
    if (r->lists[i]->entry == entry && oc_streq(r->lists[i]->flag, flag))
      return r->lists[i]->text;
  return "";
}

static int list_entry(const Omcc__V1__Report *r, const char *flag, uint32_t entry,
                      const struct oc_places *places, struct oc_buf *out)
{
  const char *text = oc_render_entry_text(r, flag, entry);
  size_t before = out->len;
  int rc = oc_render_place(places, flag, entry, out);

  if (!rc && out->len == before)
    rc = oc_buf_printf(out, "--%s %u ", flag, entry);
  if (!rc)
    rc = oc_render_plain(text, out);
  if (!rc && !*text && out->len > before)
    oc_render_cut(out, 1); /* the blank behind the place */
  return rc;
}

/* The line, and a second one when only both together are the cause. */
static int list_line(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                     const struct oc_places *places, struct oc_buf *out)
{
  int rc = list_entry(r, reason->flag, reason->entry, places, out);
  uint64_t also;

  for (size_t i = 0; i < reason->n_args && !rc; i++)
    if (oc_streq(reason->args[i]->name, "also") &&
        oc_str_to_u64(oc_str_of(reason->args[i]->value), &also)) {
      rc = oc_buf_printf(out, " and ");
      if (!rc)
        rc = list_entry(r, reason->flag, (uint32_t)also, places, out);
    }
  return rc;
}

static int argument(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                    const struct oc_places *places, struct oc_str name,
                    struct oc_buf *out)
{
  if (oc_str_is(name, "line"))
    return list_line(r, reason, places, out);
  if (oc_str_is(name, "mode"))
    return oc_buf_printf(out, "%s%s", r && r->mode ? r->mode : "",
                         r && !r->mode_given ? " (default)" : "");
  for (size_t i = 0; i < reason->n_args; i++)
    if (oc_str_is(name, reason->args[i]->name))
      return oc_render_plain(reason->args[i]->value, out);
  return 0;
}

int oc_render_rule(const struct oc_render_rule *table, size_t n,
                   const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                   const struct oc_places *places, struct oc_buf *out)
{
  const char *p = NULL;
  int rc = 0;

  for (size_t i = 0; i < n; i++)
    if (!strcmp(table[i].name, reason->rule))
      p = table[i].text;
  if (!p)
    return oc_render_plain(reason->rule, out);
  while (*p && !rc) {
    const char *end = *p == '{' ? strchr(p, '}') : NULL;

    if (!end) {
      rc = oc_buf_putc(out, *p++);
      continue;
    }
    rc =
        argument(r, reason, places, (struct oc_str){ p + 1, (size_t)(end - p - 1) }, out);
    p = end + 1;
  }
  return rc;
}

int oc_render_reason(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                     const struct oc_places *places, struct oc_buf *out)
{
  return oc_render_rule(rules, sizeof(rules) / sizeof(rules[0]), r, reason, places, out);
}
