/* The flag table: finding a flag by its name, by a prefix, or by what comes near.
 *
 * The table has about a hundred rows, so a walk is as good as an index. Prefixes are
 * resolved among ATC's flags only: adding a flag of ours must never make an abbreviation
 * ambiguous that worked before. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "flags/flags_internal.h"

const struct oc_flag_info *oc_flag_table(size_t *ret_n)
{
  *ret_n = oc_flag_n_rows;
  return oc_flag_rows;
}

const struct oc_flag_info *oc_flag_find(const char *name)
{
  for (size_t i = 0; i < oc_flag_n_rows; i++)
    if (oc_streq(oc_flag_rows[i].name, name))
      return &oc_flag_rows[i];
  return NULL;
}

const struct oc_flag_info *oc_flag_find_own(const char *name)
{
  const struct oc_flag_info *info = oc_flag_find(name);

  return info && info->ours ? info : NULL;
}

const char *oc_flag_nearest(const char *name, bool ours)
{
  const char *names[256];
  size_t n = 0;

  for (size_t i = 0; i < oc_flag_n_rows && n < sizeof(names) / sizeof(names[0]); i++)
    if (ours || !oc_flag_rows[i].ours)
      names[n++] = oc_flag_rows[i].name;
  return oc_str_nearest(name, names, n);
}

enum oc_flag_match oc_flag_resolve(const char *name, const struct oc_flag_info **ret,
                                   char *ret_names, size_t room)
{
  const struct oc_flag_info *exact = oc_flag_find(name);
  const struct oc_flag_info *found = NULL;
  size_t n = 0, used = 0;

  ret_names[0] = '\0';
  if (exact && !exact->ours) {
    *ret = exact;
    return OC_FLAG_ONE_MATCH;
  }
  if (!*name)
    return OC_FLAG_NO_MATCH;
  for (size_t i = 0; i < oc_flag_n_rows; i++) {
    int w;

    if (oc_flag_rows[i].ours || !oc_starts_with(oc_flag_rows[i].name, name))
      continue;
    n++;
    found = &oc_flag_rows[i];
    w = snprintf(ret_names + used, room - used, "%s'--%s'", n > 1 ? ", " : "",
                 found->name);
    if (w > 0 && (size_t)w < room - used)
      used += (size_t)w;
    else
      ret_names[used] = '\0';
  }
  if (n == 1)
    *ret = found;
  return n == 0 ? OC_FLAG_NO_MATCH : n == 1 ? OC_FLAG_ONE_MATCH : OC_FLAG_SEVERAL;
}
