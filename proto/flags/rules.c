/* Rules between flags, with the vendor's codes: what is required in which mode, what
 * excludes what, what needs what. They hold for every backend, because the vendor's own
 * command line check stops on the same things; where its behaviour is not known for
 * certain there is no rule here. */
#include <string.h>

#include "base/str.h"
#include "flags/flags_internal.h"

struct word {
  const char *text;
  int value;
};

int oc_flag_bool_word(const char *s)
{
  static const struct word words[] = { { "1", 1 }, { "t", 1 },     { "true", 1 },
                                       { "y", 1 }, { "yes", 1 },   { "0", 0 },
                                       { "f", 0 }, { "false", 0 }, { "n", 0 },
                                       { "no", 0 } };

  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    if (!strcasecmp(words[i].text, s))
      return words[i].value;
  return -1;
}

static void say(struct oc_findings *fs, enum oc_finding_id id, const char *flag,
                const char *arg, const char *value)
{
  oc_finding_add(fs, id, flag, arg, value, NULL)->flag = flag;
}

void oc_flag_check_type(const struct oc_flag *flag, struct oc_findings *findings)
{
  uint64_t number;

  if (!flag->info || !flag->value || !*flag->value)
    return;
  if (flag->info->type == OC_FLAG_BOOL && oc_flag_bool_word(flag->value) < 0)
    say(findings, OC_FINDING_FLAG_NOT_BOOL, flag->name, "value", flag->value);
  if (flag->info->type == OC_FLAG_INT && !oc_str_to_u64(oc_str_of(flag->value), &number))
    say(findings, OC_FINDING_FLAG_NOT_NUMBER, flag->name, "value", flag->value);
}

static bool given(const struct oc_flags *f, const char *name)
{
  return oc_flags_get(f, name) != NULL;
}

/* Given, and not with its default. */
static bool set(const struct oc_flags *f, const char *name)
{
  const struct oc_flag *flag = oc_flags_entry(f, name);

  return flag && given(f, name) &&
         strcmp(flag->value, flag->info ? flag->info->normal : "");
}

/* A flag that is there but empty has its own finding already. */
static bool absent(const struct oc_flags *f, const char *name)
{
  return !oc_flags_entry(f, name);
}

static bool wants_required(const struct oc_flags *f, const char *name)
{
  uint32_t modes = oc_flag_find(name)->required_modes;
  int mode = oc_flags_mode(f);

  return mode >= 0 && mode < 32 && (modes & OC_FLAG_MODE(mode)) && absent(f, name);
}

static void check_required(const struct oc_flags *f, bool need_output,
                           struct oc_findings *findings)
{
  bool single = given(f, "singleop");

  if (wants_required(f, "soc_version"))
    say(findings, OC_FINDING_FLAG_MISSING_SOC, "soc_version", NULL, NULL);
  if (need_output && wants_required(f, "output"))
    say(findings, OC_FINDING_FLAG_MISSING, "output", NULL, NULL);
  if (!single && wants_required(f, "model"))
    say(findings, OC_FINDING_FLAG_MISSING, "model", NULL, NULL);
  if (!single && wants_required(f, "framework"))
    say(findings, OC_FINDING_FLAG_MISSING_FRAMEWORK, "framework", NULL, NULL);
  if (wants_required(f, "om"))
    say(findings, OC_FINDING_FLAG_MISSING_FILE, "om", NULL, NULL);
  if (wants_required(f, "json"))
    say(findings, OC_FINDING_FLAG_MISSING_FILE, "json", NULL, NULL);
  if (given(f, "framework") && !strcmp(oc_flags_get(f, "framework"), "0") &&
      oc_flags_mode(f) == 0 && absent(f, "weight"))
    say(findings, OC_FINDING_FLAG_MISSING_WEIGHT, "weight", NULL, NULL);
}

static void check_dynamic(const struct oc_flags *f, struct oc_findings *findings)
{
  static const char *const names[] = { "dynamic_batch_size", "dynamic_image_size",
                                       "dynamic_dims", "input_shape_range" };
  const char *first = NULL;

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (!given(f, names[i]))
      continue;
    if (first)
      say(findings, OC_FINDING_FLAGS_EXCLUSIVE_DYNAMIC, names[i], "other", first);
    else
      first = names[i];
  }
}

static void check_single_op(const struct oc_flags *f, struct oc_findings *findings)
{
  static const char *const not_with[] = { "framework", "insert_op_conf", "mode",
                                          "display_model_info" };

  if (!given(f, "singleop"))
    return;
  for (size_t i = 0; i < sizeof(not_with) / sizeof(not_with[0]); i++)
    if (set(f, not_with[i]))
      say(findings, OC_FINDING_FLAGS_EXCLUSIVE, not_with[i], "other", "singleop");
}

static bool is_mix(const char *mode)
{
  static const char *const mix[] = {
    "allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16",
    "mixed_float16",       "mixed_bfloat16",           "mixed_hif8"
  };

  for (size_t i = 0; mode && i < sizeof(mix) / sizeof(mix[0]); i++)
    if (!strcmp(mode, mix[i]))
      return true;
  return false;
}

static void check_precision(const struct oc_flags *f, struct oc_findings *findings)
{
  const char *v1 = oc_flags_get(f, "precision_mode");
  const char *v2 = oc_flags_get(f, "precision_mode_v2");

  if (v1 && v2)
    say(findings, OC_FINDING_FLAGS_BOTH_MODES, "precision_mode_v2", NULL, NULL);
  else if (given(f, "modify_mixlist") && !is_mix(v1 ? v1 : v2))
    say(findings, OC_FINDING_FLAG_MIXLIST_MODE, "modify_mixlist", "mode",
        v1   ? v1
        : v2 ? v2
             : "force_fp16, the default");
}

static void check_pairs(const struct oc_flags *f, struct oc_findings *findings)
{
  if (given(f, "insert_op_conf") && given(f, "dynamic_dims"))
    say(findings, OC_FINDING_FLAGS_EXCLUSIVE, "insert_op_conf", "other", "dynamic_dims");
  if (given(f, "optypelist_for_implmode") && !given(f, "op_select_implmode"))
    say(findings, OC_FINDING_FLAG_NEEDS, "optypelist_for_implmode", "other",
        "op_select_implmode");
  if (set(f, "enable_compress_weight") && given(f, "compress_weight_conf"))
    say(findings, OC_FINDING_FLAGS_EXCLUSIVE_COMPRESS, "enable_compress_weight", NULL,
        NULL);
  if (given(f, "deterministic") && given(f, "deterministic_level") &&
      set(f, "deterministic") != set(f, "deterministic_level"))
    say(findings, OC_FINDING_FLAGS_EXCLUSIVE, "deterministic_level", "other",
        "deterministic");
  if (oc_flags_mode(f) == 30 && set(f, "display_model_info"))
    say(findings, OC_FINDING_FLAGS_EXCLUSIVE, "display_model_info", "other", "mode=30");
  if (oc_flags_mode(f) == 6 && given(f, "framework"))
    say(findings, OC_FINDING_FLAG_MODE6_FRAMEWORK, "framework", NULL, NULL);
}

static void check_rejected(const struct oc_flags *f, struct oc_findings *findings)
{
  for (size_t i = 0; i < f->n; i++) {
    const struct oc_flag *flag = &f->items[i];

    if (flag->info && flag->info->key == OC_FLAG_KEY_REJECT && *flag->value)
      say(findings, OC_FINDING_FLAG_REMOVED, flag->name, NULL, NULL);
  }
}

void oc_flags_rules(const struct oc_flags *f, bool need_output,
                    struct oc_findings *findings)
{
  check_required(f, need_output, findings);
  check_precision(f, findings);
  check_dynamic(f, findings);
  check_single_op(f, findings);
  check_pairs(f, findings);
  check_rejected(f, findings);
}

void oc_flags_check_rules(const struct oc_flags *f, struct oc_findings *findings)
{
  oc_flags_rules(f, false, findings);
}
