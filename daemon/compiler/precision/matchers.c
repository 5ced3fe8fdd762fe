/* Matchers: each narrows or reorders the candidate columns for one tensor.
 *
 * A matcher that finds nothing leaves the set as it was (the mix matcher alone removes
 * forbidden columns first). The order of the set is kept, except by reduce, which sorts
 * by the distance of dtypes and loses columns whose key is taken; so does the vendor's.
 */
#include "precision_internal.h"

/* Distances between the three floats come from these numbers. */
enum { PRIO_F32 = 100000, PRIO_BF16 = 200000, PRIO_F16 = 200001, GAP_LIMIT = 1000000 };

void oc_set_all(struct oc_set *s, uint32_t n_columns)
{
  s->n = n_columns;
  for (uint32_t i = 0; i < n_columns; i++)
    s->v[i] = (uint16_t)i;
}

static bool filter(struct oc_set *s, const uint8_t *c, unsigned w)
{
  uint32_t n = 0, first = 0;

  while (first < s->n && c[s->v[first]] != w)
    first++;
  if (first == s->n)
    return false;
  for (uint32_t i = first; i < s->n; i++)
    if (c[s->v[i]] == w)
      s->v[n++] = s->v[i];
  s->n = n;
  return true;
}

bool oc_match_precise(struct oc_set *s, const uint8_t *c, enum oc_dtype w)
{
  return filter(s, c, w);
}

static bool match_exact(struct oc_set *s, const uint8_t *c, enum oc_dtype w,
                        enum oc_dtype forbid)
{
  return w != forbid && filter(s, c, w);
}

bool oc_match_rise(struct oc_set *s, const uint8_t *c, enum oc_dtype w,
                   enum oc_dtype forbid)
{
  if (match_exact(s, c, w, forbid))
    return true;
  if (w != OC_DT_F16 && w != OC_DT_BF16)
    return false;
  return match_exact(s, c, OC_DT_F32, forbid);
}

static int priority(unsigned d)
{
  return d == OC_DT_F32    ? PRIO_F32
         : d == OC_DT_BF16 ? PRIO_BF16
         : d == OC_DT_F16  ? PRIO_F16
                           : -1;
}

bool oc_match_reduce(struct oc_set *s, const uint8_t *c, enum oc_dtype w,
                     enum oc_dtype forbid)
{
  if (!oc_dtype_is_float3(w))
    return match_exact(s, c, w, forbid);
  /* An ordered map of gap -> column; insertion never overwrites. Keys and columns travel
   * in step, sorted by insertion. */
  uint32_t keys[1024];
  uint16_t cols[1024];
  uint32_t n = 0, moved = 1;
  for (uint32_t i = 0; i < s->n; i++) {
    unsigned d = c[s->v[i]];
    int gap = priority(d) - priority(w);
    if (priority(d) < 0 || d == forbid || gap <= 0 || gap >= GAP_LIMIT)
      continue;
    uint32_t key = (uint32_t)gap, at = 0;
    while (at < n && keys[at] < key)
      at++;
    if (at < n && keys[at] == key) {
      key += moved++;
      while (at < n && keys[at] < key)
        at++;
      if (at < n && keys[at] == key)
        continue; /* taken as well: the column is lost */
    }
    for (uint32_t k = n; k > at; k--) {
      keys[k] = keys[k - 1];
      cols[k] = cols[k - 1];
    }
    keys[at] = key;
    cols[at] = s->v[i];
    n++;
  }
  if (!n)
    return false;
  for (uint32_t i = 0; i < n; i++)
    s->v[i] = cols[i];
  s->n = n;
  return true;
}

bool oc_match_mix(struct oc_set *s, const uint8_t *c, enum oc_dtype forbid)
{
  uint32_t n = 0, hits = 0;

  for (uint32_t i = 0; i < s->n; i++)
    if (forbid == OC_DT_UNDEFINED || c[s->v[i]] != forbid)
      s->v[n++] = s->v[i];
  s->n = n;
  for (uint32_t i = 0; i < n; i++)
    hits += c[s->v[i]] == OC_DT_F16 || c[s->v[i]] == OC_DT_BF16;
  if (!hits)
    return false;
  n = 0;
  for (uint32_t i = 0; i < s->n; i++)
    if (c[s->v[i]] == OC_DT_F16 || c[s->v[i]] == OC_DT_BF16)
      s->v[n++] = s->v[i];
  s->n = n;
  return true;
}
