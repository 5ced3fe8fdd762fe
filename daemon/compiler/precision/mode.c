/* The two precision options: spellings, the default, and what does not go together.
 *
 * v1 values and v2 values are separate vocabularies, compared byte by byte. The default
 * of inference is force_fp16 on every chip. */
#include "precision_internal.h"

#include <string.h>

static const struct {
  const char *word;
  enum oc_mode mode;
  bool v2;
  bool mix; /* takes a mix list */
} words[] = {
  { "force_fp16", OC_MODE_FORCE_FP16, false, false },
  { "allow_fp32_to_fp16", OC_MODE_FP32_TO_FP16, false, false },
  { "allow_mix_precision", OC_MODE_MIX_FP16, false, true },
  { "allow_mix_precision_fp16", OC_MODE_MIX_FP16, false, true },
  { "must_keep_origin_dtype", OC_MODE_ORIGIN, false, false },
  { "force_fp32", OC_MODE_FORCE_FP32, false, false },
  { "cube_fp16in_fp32out", OC_MODE_FORCE_FP32, false, false },
  { "allow_fp32_to_bf16", OC_MODE_FP32_TO_BF16, false, false },
  { "allow_mix_precision_bf16", OC_MODE_MIX_BF16, false, true },
  { "fp16", OC_MODE_FORCE_FP16, true, false },
  { "origin", OC_MODE_ORIGIN, true, false },
  { "cube_fp16in_fp32out", OC_MODE_FORCE_FP32, true, false },
  { "mixed_float16", OC_MODE_MIX_FP16, true, true },
  { "mixed_bfloat16", OC_MODE_MIX_BF16, true, true },
  { "cube_hif8", OC_MODE_CUBE_HIF8, true, false },
  { "mixed_hif8", OC_MODE_MIXED_HIF8, true, true },
};
#define N_WORDS (sizeof words / sizeof *words)

static const char *const flags[] = { "precision_mode", "precision_mode_v2" };

const char *oc_mode_name(enum oc_mode m)
{
  switch (m) {
  case OC_MODE_FORCE_FP16: return "fp16";
  case OC_MODE_FP32_TO_FP16: return "allow_fp32_to_fp16";
  case OC_MODE_MIX_FP16: return "mixed_float16";
  case OC_MODE_ORIGIN: return "origin";
  case OC_MODE_FORCE_FP32: return "cube_fp16in_fp32out";
  case OC_MODE_FP32_TO_BF16: return "allow_fp32_to_bf16";
  case OC_MODE_MIX_BF16: return "mixed_bfloat16";
  case OC_MODE_CUBE_HIF8: return "cube_hif8";
  case OC_MODE_MIXED_HIF8: return "mixed_hif8";
  }
  return "";
}

bool oc_mode_is_mix(enum oc_mode m)
{
  return m == OC_MODE_MIX_FP16 || m == OC_MODE_MIX_BF16 || m == OC_MODE_MIXED_HIF8;
}

static int find(const char *value, bool v2)
{
  for (size_t i = 0; i < N_WORDS; i++)
    if (words[i].v2 == v2 && oc_streq(words[i].word, value))
      return (int)i;
  return -1;
}

/* What to write instead: the other option, the nearest word, or all of them. */
static const char *advice(struct oc_arena *a, const char *value, bool v2)
{
  const char *list[N_WORDS];
  size_t n = 0;

  if (find(value, !v2) >= 0)
    return oc_arena_printf(a, "write --%s=%s", flags[!v2], value);
  for (size_t i = 0; i < N_WORDS; i++)
    if (words[i].v2 == v2)
      list[n++] = words[i].word;
  const char *near = oc_str_nearest(value, list, n);
  if (near)
    return oc_arena_printf(a, "write --%s=%s", flags[v2], near);
  const char *text = "one of ";
  for (size_t i = 0; text && i < n; i++)
    text = oc_arena_printf(a, "%s%s%s", text, i ? ", " : "", list[i]);
  return text;
}

static int unknown(struct oc_findings *fs, const char *value, bool v2)
{
  const char *fix = advice(fs->arena, value, v2);
  struct oc_finding *f = oc_finding_add(fs, OC_FINDING_MODE_UNKNOWN, value, "flag",
                                        flags[v2], "fix", fix ? fix : "", NULL);
  f->flag = flags[v2];
  return OC_E_ARG;
}

static int check_mixlist(struct oc_findings *fs, const struct oc_mode_choice *c, bool mix)
{
  if (c->given && mix)
    return 0;
  const char *text = c->given ? c->spelling : "fp16, the default";
  oc_finding_add(fs, OC_FINDING_MIXLIST_MODE, c->spelling, "mode", text, NULL)->flag =
      "modify_mixlist";
  return OC_E_ARG;
}

int oc_precision_mode(const char *v1, const char *v2, const char *mixlist,
                      struct oc_findings *fs, struct oc_mode_choice *ret)
{
  struct oc_mode_choice c = { .mode = OC_MODE_FORCE_FP16,
                              .spelling = "fp16",
                              .flag = "" };
  bool mix = false;

  v1 = v1 ? v1 : "";
  v2 = v2 ? v2 : "";
  int i1 = *v1 ? find(v1, false) : -1;
  int i2 = *v2 ? find(v2, true) : -1;
  if (*v1 && i1 < 0)
    return unknown(fs, v1, false);
  if (*v2 && i2 < 0)
    return unknown(fs, v2, true);
  if (*v1 && *v2) {
    oc_finding_add(fs, OC_FINDING_MODES_BOTH, "precision_mode_v2", "v1", v1, "v2", v2,
                   NULL)
        ->flag = "precision_mode_v2";
    return OC_E_ARG;
  }
  if (*v1 || *v2) {
    int i = *v1 ? i1 : i2;
    c = (struct oc_mode_choice){ words[i].mode, true, words[i].word, flags[words[i].v2] };
    mix = words[i].mix;
  }
  int rc = mixlist ? check_mixlist(fs, &c, mix) : 0;
  if (!rc)
    *ret = c;
  return rc;
}
