/* The normal form: what two command lines that ask for the same file have in common.
 *
 * Defaults are filled in, bool words and numbers get one spelling, both spellings of the
 * precision mode become one part, and the layout of the inputs is resolved from the
 * framework. Order inside a value is kept: in lists of outputs or profiles it means
 * something. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "flags/flags_internal.h"

struct alias {
  const char *spelling, *folded;
};

const char *oc_flags_precision(const struct oc_flags *f, bool *ret_given)
{
  static const struct alias v1[] = {
    { "force_fp16", "force_fp16" },
    { "force_fp32", "force_fp32" },
    { "cube_fp16in_fp32out", "force_fp32" },
    { "allow_mix_precision", "allow_mix_precision_fp16" },
    { "allow_mix_precision_fp16", "allow_mix_precision_fp16" },
    { "allow_mix_precision_bf16", "allow_mix_precision_bf16" },
    { "allow_fp32_to_fp16", "allow_fp32_to_fp16" },
    { "allow_fp32_to_bf16", "allow_fp32_to_bf16" },
    { "must_keep_origin_dtype", "must_keep_origin_dtype" },
  };
  static const struct alias v2[] = {
    { "fp16", "force_fp16" },
    { "origin", "must_keep_origin_dtype" },
    { "cube_fp16in_fp32out", "force_fp32" },
    { "mixed_float16", "allow_mix_precision_fp16" },
    { "mixed_bfloat16", "allow_mix_precision_bf16" },
    { "cube_hif8", "cube_hif8" },
    { "mixed_hif8", "mixed_hif8" },
  };
  const char *a = oc_flags_get(f, "precision_mode");
  const char *b = oc_flags_get(f, "precision_mode_v2");

  if (ret_given)
    *ret_given = a || b;
  if (!a && !b)
    return "force_fp16";
  for (size_t i = 0; a && i < sizeof(v1) / sizeof(v1[0]); i++)
    if (!strcmp(a, v1[i].spelling))
      return v1[i].folded;
  for (size_t i = 0; !a && i < sizeof(v2) / sizeof(v2[0]); i++)
    if (!strcmp(b, v2[i].spelling))
      return v2[i].folded;
  return NULL;
}

/* One spelling of one value. */
static const char *normal_value(const struct oc_flags *f, const struct oc_flag_info *info,
                                const char *value, struct oc_arena *arena)
{
  const char *framework = oc_flags_get(f, "framework");
  uint64_t number;

  if (!value && !strcmp(info->name, "input_format"))
    return framework && !strcmp(framework, "3") ? "NHWC" : "NCHW";
  if (!value)
    return info->normal;
  if (info->type == OC_FLAG_BOOL && oc_flag_bool_word(value) >= 0)
    return oc_flag_bool_word(value) ? "true" : "false";
  if (info->type == OC_FLAG_INT && oc_str_to_u64(oc_str_of(value), &number))
    return oc_arena_printf(arena, "%llu", (unsigned long long)number);
  return value;
}

static int by_name(const void *a, const void *b)
{
  const struct oc_flag_normal *x = a, *y = b;

  return strcmp(x->name, y->name);
}

/* The modes as one part: the folded spelling, or both texts when one is in no table. */
static struct oc_flag_normal precision_part(const struct oc_flags *f,
                                            struct oc_arena *arena)
{
  struct oc_flag_normal part = { .name = "precision_mode" };
  const char *a = oc_flags_get(f, "precision_mode");
  const char *b = oc_flags_get(f, "precision_mode_v2");

  part.value = a && b ? NULL : oc_flags_precision(f, NULL);
  part.given = a || b;
  if (!part.value)
    part.value = oc_arena_printf(arena, "%s|%s", a ? a : "", b ? b : "");
  return part;
}

int oc_flags_normal(const struct oc_flags *f, struct oc_arena *arena,
                    struct oc_flag_normal **ret, size_t *ret_n)
{
  struct oc_flag_normal *parts =
      OC_NEW_N(arena, struct oc_flag_normal, oc_flag_n_rows + f->n + 1);
  size_t n = 0, known;

  if (!parts)
    return OC_E_NOMEM;
  for (size_t i = 0; i < oc_flag_n_rows; i++) {
    const struct oc_flag_info *info = &oc_flag_rows[i];
    const char *value = oc_flags_get(f, info->name);

    if (info->ours || info->key != OC_FLAG_KEY_VALUE ||
        !strcmp(info->name, "precision_mode_v2"))
      continue;
    if (!strcmp(info->name, "precision_mode")) {
      parts[n++] = precision_part(f, arena);
      continue;
    }
    parts[n].name = info->name;
    parts[n].value = normal_value(f, info, value, arena);
    parts[n++].given = value != NULL;
  }
  known = n;
  for (size_t i = 0; i < f->n; i++)
    if (!f->items[i].info)
      parts[n++] = (struct oc_flag_normal){ f->items[i].name, f->items[i].value, true };
  qsort(parts + known, n - known, sizeof(*parts), by_name);
  for (size_t i = 0; i < n; i++)
    if (!parts[i].value || !parts[i].name)
      return OC_E_NOMEM;
  *ret = parts;
  *ret_n = n;
  return 0;
}
