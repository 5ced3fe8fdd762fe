/* The words of reports: rules, engines, states; and reasons as named values. */
#include "precision_internal.h"

#include <stdio.h>

const char *oc_rule_name(enum oc_rule r)
{
  static const char *const names[] = {
#define X(id, text) [OC_RULE_##id] = text,
    OC_RULES(X)
#undef X
  };
  return (unsigned)r < OC_RULE_COUNT ? names[r] : "";
}

const char *oc_sure_name(enum oc_sure s)
{
  static const char *const names[] = { "exact", "computed", "open" };
  return names[s];
}

const char *oc_engine_name(enum oc_engine e)
{
  switch (e) {
  case OC_ENGINE_GRAPH: return "graph";
  case OC_ENGINE_AICORE: return "aicore";
  case OC_ENGINE_FRAMEWORK: return "framework";
  case OC_ENGINE_AICPU: return "aicpu";
  case OC_ENGINE_NONE: return "none";
  }
  return "";
}

const char *oc_entry_state_name(enum oc_entry_state s)
{
  static const char *const names[] = { "used",      "redundant", "unmatched",
                                       "no_effect", "void",      "shadowed" };
  return names[s];
}

const char *oc_dtype_list(struct oc_arena *a, uint64_t set)
{
  const char *text = NULL;

  for (unsigned d = 1; d < OC_DT_COUNT; d++) {
    if (!(set >> d & 1))
      continue;
    const char *name = oc_dtype_name((enum oc_dtype)d);
    text = text ? oc_arena_printf(a, "%s, %s", text, name) : name;
    if (!text)
      return "";
  }
  return text ? text : "nothing";
}

struct oc_finding_arg *oc_reason_args(const struct oc_reason *r, struct oc_arena *a,
                                      size_t *ret_n)
{
  struct oc_finding_arg *args = OC_NEW_N(a, struct oc_finding_arg, 6);
  size_t n = 0;

  *ret_n = 0;
  if (!args)
    return NULL;
  if (r->dtype)
    args[n++] =
        (struct oc_finding_arg){ "dtype", oc_dtype_name((enum oc_dtype)r->dtype) };
  if (r->forbidden)
    args[n++] = (struct oc_finding_arg){ "forbidden",
                                         oc_dtype_name((enum oc_dtype)r->forbidden) };
  if (r->column >= 0)
    args[n++] = (struct oc_finding_arg){ "column", oc_arena_printf(a, "%d", r->column) };
  if (r->subject)
    args[n++] = (struct oc_finding_arg){ "subject", r->subject };
  if (r->offered)
    args[n++] = (struct oc_finding_arg){ "offered", oc_dtype_list(a, r->offered) };
  if (r->also)
    args[n++] = (struct oc_finding_arg){ "also", oc_arena_printf(a, "%u", r->also) };
  *ret_n = n;
  return args;
}
