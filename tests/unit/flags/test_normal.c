/* Normal forms: equal for command lines that ask for the same file, different when any
 * value-keyed flag of the table differs. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "flags/flags.h"
#include "suites.h"

/* "name=value;..." to the normal form as one text. */
static void normal_text(const char *flags_text, struct oc_buf *out)
{
  struct oc_arena arena;
  struct oc_flags flags;
  struct oc_flag_normal *parts;
  char text[512];
  char *save = NULL;
  size_t n;

  oc_arena_init(&arena, 1 << 20);
  oc_flags_init(&flags, &arena);
  oc_buf_reset(out);
  ck_assert(strlen(flags_text) < sizeof(text));
  memcpy(text, flags_text, strlen(flags_text) + 1);
  for (char *w = strtok_r(text, "&", &save); w; w = strtok_r(NULL, "&", &save)) {
    char *eq = strchr(w, '=');

    *eq = '\0';
    ck_assert_int_eq(oc_flags_set(&flags, w, eq + 1), 0);
  }
  ck_assert_int_eq(oc_flags_normal(&flags, &arena, &parts, &n), 0);
  for (size_t i = 0; i < n; i++)
    oc_buf_printf(out, "%s=%s\n", parts[i].name, parts[i].value);
  oc_arena_clear(&arena);
}

struct pair {
  const char *id, *a, *b;
  bool equal;
};

static const struct pair pairs[] = {
  { "default mode", "framework=5", "framework=5&precision_mode=force_fp16", true },
  { "default mode v2", "framework=5", "framework=5&precision_mode_v2=fp16", true },
  { "mixed aliases", "precision_mode=allow_mix_precision",
    "precision_mode_v2=mixed_float16", true },
  { "origin aliases", "precision_mode=must_keep_origin_dtype", "precision_mode_v2=origin",
    true },
  { "modes differ", "precision_mode=force_fp32", "precision_mode=force_fp16", false },
  { "unknown mode", "precision_mode=x", "precision_mode_v2=x", false },
  { "order", "framework=5&soc_version=S", "soc_version=S&framework=5", true },
  { "default filled in", "op_debug_level=0", "framework=", true },
  { "weight clip", "is_weight_clip=1", "framework=", true },
  { "zeros of a number", "framework=05", "framework=5", true },
  { "bool words", "raw_ge_options_ignore_unsupported=Yes",
    "raw_ge_options_ignore_unsupported=true", true },
  { "layout default", "framework=5&input_format=NCHW", "framework=5", true },
  { "layout of tensorflow", "framework=3&input_format=NCHW", "framework=3", false },
  { "blanks in shapes", "input_shape=x:1, 3", "input_shape=x:1,3", true },
  { "paths are no part", "keep_dtype=a", "keep_dtype=b", true },
  { "output is no part", "output=a", "output=b", true },
  { "neutral", "log=debug", "log=null", true },
  { "unknown flag", "new_flag=1", "new_flag=2", false },
  { "ours", "link=true", "framework=", true },
};

START_TEST(aliases)
{
  const struct pair *p = &pairs[_i];
  struct oc_buf a, b;

  oc_buf_init(&a, 65536);
  oc_buf_init(&b, 65536);
  normal_text(p->a, &a);
  normal_text(p->b, &b);
  ck_assert_msg(!strcmp(oc_buf_str(&a), oc_buf_str(&b)) == p->equal, "%s:\n%s\n%s", p->id,
                oc_buf_str(&a), oc_buf_str(&b));
  oc_buf_clear(&a);
  oc_buf_clear(&b);
}
END_TEST

/* Another value than the default, for every value-keyed flag. */
START_TEST(each_flag_counts)
{
  struct oc_buf a, b;
  size_t n, flipped = 0;
  const struct oc_flag_info *rows = oc_flag_table(&n);

  oc_buf_init(&a, 65536);
  oc_buf_init(&b, 65536);
  normal_text("framework=", &a);
  for (size_t i = 0; i < n; i++) {
    const char *value = rows[i].type == OC_FLAG_INT ? "77" : "true";
    char text[128];

    if (rows[i].n_choices) {
      value = rows[i].choices[0];
      if (!strcmp(value, rows[i].normal) || !strcmp(value, "force_fp16") ||
          !strcmp(value, "fp16"))
        value = rows[i].choices[1];
    } else if (!strcmp(rows[i].normal, "true")) {
      value = "false";
    }
    snprintf(text, sizeof(text), "%s=%s", rows[i].name, value);
    normal_text(text, &b);
    ck_assert_msg((strcmp(oc_buf_str(&a), oc_buf_str(&b)) != 0) ==
                      (rows[i].key == OC_FLAG_KEY_VALUE && !rows[i].ours),
                  "%s", text);
    flipped++;
  }
  ck_assert_uint_ge(flipped, 90);
  oc_buf_clear(&a);
  oc_buf_clear(&b);
}
END_TEST

struct uncached {
  const char *name, *value;
  bool uncached;
};
static const struct uncached uncached_rows[] = {
  { "op_debug_level", "1", true },  { "op_debug_level", "0", false },
  { "op_debug_config", "f", true }, { "mode", "3", true },
  { "mode", "0", false },           { "new_flag", "1", true },
  { "log", "debug", false },        { "compression_optimize_conf", "f", true },
};

START_TEST(uncached)
{
  const struct uncached *row = &uncached_rows[_i];
  struct oc_arena arena;
  struct oc_flags flags;

  oc_arena_init(&arena, 1 << 20);
  oc_flags_init(&flags, &arena);
  ck_assert_int_eq(oc_flags_set(&flags, row->name, row->value), 0);
  ck_assert((oc_flags_uncached(&flags) != NULL) == row->uncached);
  oc_arena_clear(&arena);
}
END_TEST

TCase *normal_cases(void)
{
  TCase *t = tcase_create("normal");

  tcase_add_loop_test(t, aliases, 0, sizeof(pairs) / sizeof(pairs[0]));
  tcase_add_test(t, each_flag_counts);
  tcase_add_loop_test(t, uncached, 0, sizeof(uncached_rows) / sizeof(uncached_rows[0]));
  return t;
}
