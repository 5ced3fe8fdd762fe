/* The op_precision_mode file: how kernels compute inside. It never changes a dtype.
 *
 * An ini with [ByOpType] and [ByNodeName]; lines before any section count as by type. The
 * first entry of a key wins, entries with an unknown mode are ignored. */
#include "lists_internal.h"

#include <string.h>

static const char flag[] = "op_precision_mode";

static const char *const modes[] = {
  "high_performance",
  "high_precision",
  "super_performance",
  "enable_float_32_execution",
  "enable_hi_float_32_execution",
  "support_out_of_bound_index",
  "norm_class",
  "keep_fp16",
};

static bool known_mode(struct oc_str s)
{
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (oc_str_is(s, modes[i]))
      return true;
  return false;
}

static void say(struct oc_findings *fs, enum oc_finding_id id, struct oc_str what,
                uint32_t line)
{
  oc_list_place(oc_finding_add(fs, id, oc_list_show(fs->arena, what), NULL), flag, line,
                0);
}

/* True when the line was a section header. */
static bool section(struct oc_str text, bool *by_name)
{
  if (text.len < 2 || text.p[0] != '[' || text.p[text.len - 1] != ']')
    return false;
  struct oc_str name = oc_str_trim((struct oc_str){ text.p + 1, text.len - 2 });
  if (oc_str_is(name, "ByNodeName"))
    *by_name = true;
  else if (oc_str_is(name, "ByOpType"))
    *by_name = false;
  else
    return false;
  return true;
}

static int enter(struct oc_impl_list *l, struct oc_map *seen, struct oc_impl_entry e,
                 struct oc_findings *fs)
{
  if (!known_mode(e.mode)) {
    say(fs, OC_FINDING_IMPL_MODE_UNKNOWN, e.mode, e.line);
    e.ignored = true;
  } else if (oc_map_has(&seen[e.by_name], e.key)) {
    e.ignored = true;
  }
  l->entries[l->n] = e;
  if (!e.ignored && oc_map_put(&seen[e.by_name], e.key, &l->entries[l->n]))
    return OC_E_NOMEM;
  l->n++;
  return 0;
}

static int read_all(struct oc_impl_list *l, struct oc_lines *lines, struct oc_map *seen,
                    struct oc_findings *fs)
{
  bool by_name = false;
  struct oc_str line;

  while (oc_lines_next(lines, &line)) {
    struct oc_str text = oc_str_trim(line);
    if (!text.len || text.p[0] == '#' || section(text, &by_name))
      continue;
    const char *eq = memchr(text.p, '=', text.len);
    if (!eq) {
      say(fs, OC_FINDING_IMPL_MODE_LINE, text, lines->line);
      return OC_E_FORMAT;
    }
    struct oc_impl_entry e = { .by_name = by_name, .line = lines->line };
    e.key = oc_str_trim((struct oc_str){ text.p, (size_t)(eq - text.p) });
    e.mode = oc_str_trim((struct oc_str){ eq + 1, (size_t)(text.p + text.len - eq - 1) });
    int rc = enter(l, seen, e, fs);
    if (rc)
      return rc;
  }
  return 0;
}

int oc_impl_parse(struct oc_arena *a, const void *bytes, size_t len, unsigned flags,
                  struct oc_findings *fs, struct oc_impl_list **ret)
{
  struct oc_impl_list *l = OC_NEW(a, struct oc_impl_list);
  struct oc_map seen[2] = { { 0 }, { 0 } };
  struct oc_lines lines;
  bool bom;

  if (!l)
    return OC_E_NOMEM;
  int rc = oc_lines_open(&lines, flag, bytes, len, flags, fs, &bom);
  if (rc)
    return rc;
  l->entries = OC_NEW_N(a, struct oc_impl_entry, oc_lines_count(&lines));
  if (!l->entries)
    return OC_E_NOMEM;
  rc = read_all(l, &lines, seen, fs);
  oc_map_clear(&seen[0]);
  oc_map_clear(&seen[1]);
  if (rc)
    return rc;
  if (bom)
    oc_list_note(fs, OC_FINDING_LIST_BOM, flag, 1);
  *ret = l;
  return 0;
}

int oc_impl_canonical(const struct oc_impl_list *l, struct oc_buf *out)
{
  for (int by_name = 0; by_name < 2; by_name++) {
    bool head = false;
    for (uint32_t i = 0; i < l->n; i++) {
      const struct oc_impl_entry *e = &l->entries[i];
      if (e->ignored || e->by_name != by_name)
        continue;
      if (!head)
        oc_buf_puts(out, by_name ? "[ByNodeName]\n" : "[ByOpType]\n");
      head = true;
      oc_buf_printf(out, "%.*s=%.*s\n", (int)e->key.len, e->key.p, (int)e->mode.len,
                    e->mode.p);
    }
  }
  return out->failed ? OC_E_NOMEM : 0;
}
