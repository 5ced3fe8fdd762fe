/* What one backend says about flags that are well-formed in themselves.
 *
 * `builtin` knows exactly the table: a flag outside it, a word outside an enumeration, a
 * flag whose absence would make the result wrong are errors; a flag that changes nothing
 * there is a warning, unless it only repeats the default. `atc` may be newer than the
 * table: the same things are warnings, and the vendor's compiler judges. */
#include <string.h>

#include "base/str.h"
#include "flags/flags_internal.h"

static bool is_choice(const struct oc_flag_info *info, const char *value)
{
  for (size_t i = 0; i < info->n_choices; i++)
    if (!strcmp(info->choices[i], value))
      return true;
  return info->n_choices == 0;
}

static void say_unknown(const struct oc_flag *flag, enum oc_flags_backend backend,
                        struct oc_findings *findings)
{
  const char *near = oc_flag_nearest(flag->name, true);
  const char *hint = near ? oc_arena_printf(findings->arena, "did you mean '--%s'", near)
                          : "'omcc help flags' lists them all";

  oc_finding_add(findings,
                 backend == OC_FLAGS_BUILTIN ? OC_FINDING_FLAG_UNKNOWN
                                             : OC_FINDING_FLAG_PASSED_ON,
                 flag->name, "hint", hint ? hint : "", NULL)
      ->flag = flag->name;
}

static void say_choice(const struct oc_flag *flag, enum oc_flags_backend backend,
                       struct oc_findings *findings)
{
  const struct oc_flag_info *info = flag->info;
  const char *near = oc_str_nearest(flag->value, info->choices, info->n_choices);
  const char *all = "";

  for (size_t i = 0; i < info->n_choices && all; i++)
    all =
        oc_arena_printf(findings->arena, "%s%s%s", all, i ? ", " : "", info->choices[i]);
  oc_finding_add(findings,
                 backend == OC_FLAGS_BUILTIN ? OC_FINDING_FLAG_BAD_WORD
                                             : OC_FINDING_FLAG_WORD_PASSED_ON,
                 flag->name, "value", flag->value, "choices", all ? all : "", "nearest",
                 near ? near : info->choices[0], NULL)
      ->flag = flag->name;
}

static bool is_default(const struct oc_flag *flag, const struct oc_flags *f)
{
  const char *framework = oc_flags_get(f, "framework");

  if (!strcmp(flag->name, "input_format"))
    return !strcmp(flag->value, framework && !strcmp(framework, "3") ? "NHWC" : "NCHW");
  if (flag->info->type == OC_FLAG_BOOL)
    return oc_flag_bool_word(flag->value) ==
           (*flag->info->normal ? oc_flag_bool_word(flag->info->normal) : 0);
  return !strcmp(flag->value, flag->info->normal);
}

static void check_builtin(const struct oc_flag *flag, const struct oc_flags *f,
                          struct oc_findings *findings)
{
  const struct oc_flag_info *info = flag->info;

  if (is_default(flag, f))
    return;
  if (info->builtin == OC_FLAG_REFUSE)
    oc_finding_add(findings, OC_FINDING_FLAG_REFUSED, flag->name, NULL)->flag =
        flag->name;
  else if (info->builtin == OC_FLAG_NONE && info->key != OC_FLAG_KEY_NEUTRAL)
    oc_finding_add(findings, OC_FINDING_FLAG_NO_EFFECT, flag->name, NULL)->flag =
        flag->name;
  if (!strcmp(flag->name, "mode") && is_choice(info, flag->value))
    oc_finding_add(findings, OC_FINDING_FLAG_MODE_REFUSED, flag->value, NULL)->flag =
        flag->name;
}

void oc_flags_check_backend(const struct oc_flags *f, enum oc_flags_backend backend,
                            struct oc_findings *findings)
{
  for (size_t i = 0; i < f->n; i++) {
    const struct oc_flag *flag = &f->items[i];

    if (!flag->info) {
      say_unknown(flag, backend, findings);
      continue;
    }
    if (flag->info->ours || !flag->value || !*flag->value)
      continue;
    if (flag->info->n_choices && !is_choice(flag->info, flag->value))
      say_choice(flag, backend, findings);
    if (backend == OC_FLAGS_BUILTIN)
      check_builtin(flag, f, findings);
  }
}

void oc_flags_check_own(const struct oc_flags *f, struct oc_findings *findings)
{
  for (size_t i = 0; i < f->n; i++) {
    const struct oc_flag *flag = &f->items[i];

    if (flag->info && flag->info->ours && flag->info->n_choices &&
        !is_choice(flag->info, flag->value))
      say_choice(flag, OC_FLAGS_BUILTIN, findings);
  }
}
