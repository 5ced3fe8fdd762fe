/* Command lines in, flags and findings out: one row per behaviour. The words of a row are
 * separated by '^' because values hold blanks. */
#include <string.h>

#include "base/buf.h"
#include "flags/flags.h"
#include "suites.h"

#define FULL       "--model=m^--framework=5^--soc_version=S^--output=o^"
#define FULL_FLAGS "model=m framework=5 soc_version=S output=o "

struct row {
  const char *id;
  const char *words;
  const char *flags;    /* name=value ... */
  const char *findings; /* id:subject ... */
  bool as_atc;          /* called under the name atc */
};

static const struct row rows[] = {
  { "plain", FULL, FULL_FLAGS, "", false },
  { "one dash", "-model=m^-framework=5^-soc_version=S^-output=o", FULL_FLAGS, "", false },
  { "next word", "--model^m^--framework^5^--soc_version^S^--output^o", FULL_FLAGS, "",
    false },
  { "dash for underscore", "--model=m^--framework=5^--soc-version=S^--output=o",
    FULL_FLAGS, "", false },
  { "prefix", "--mod=m^--fra=5^--soc=S^--outp=o", "framework=5 soc_version=S ",
    "flag-ambiguous:mod flag-ambiguous:outp flag-missing:output flag-missing:model",
    false },
  { "prefix of one", FULL "--check=1", FULL_FLAGS "check_report=1 ", "", false },
  { "exact beats prefix", FULL "--precision_mode=force_fp32",
    FULL_FLAGS "precision_mode=force_fp32 ", "", false },
  { "last wins", FULL "--model=n", "model=n framework=5 soc_version=S output=o ", "",
    false },
  { "first wins", FULL "--oo_constant_folding=false^--oo_constant_folding=true",
    FULL_FLAGS "oo_constant_folding=false ", "", false },
  { "bool bare", FULL "--link", FULL_FLAGS "link=true ", "", false },
  { "bool word", FULL "--link=NO", FULL_FLAGS "link=NO ", "", false },
  { "bool bad", FULL "--link=maybe", FULL_FLAGS "link=maybe ", "flag-not-bool:link",
    false },
  { "help asks for nothing", "--help", "help=true ", "", false },
  { "h", "-h", "help=true ", "", false },
  { "number", "--model=m^--framework=-1^--soc_version=S^--output=o",
    "model=m framework=-1 soc_version=S output=o ", "flag-not-number:framework", false },
  { "unknown", FULL "--new_flag=3", FULL_FLAGS "new_flag=3 ", "", false },
  { "unknown bare", FULL "--new_flag^--log=null", FULL_FLAGS "new_flag=true log=null ",
    "", false },
  { "unknown next", FULL "--new_flag^7", FULL_FLAGS "new_flag=7 ", "", false },
  { "no value at end", FULL "--keep_dtype", FULL_FLAGS, "flag-no-value:keep_dtype",
    false },
  { "no value before flag", FULL "--keep_dtype^--log=null", FULL_FLAGS "log=null ",
    "flag-no-value:keep_dtype", false },
  { "empty list",
    FULL "--keep_dtype=", FULL_FLAGS "keep_dtype= ", "flag-empty:keep_dtype", false },
  { "blank behind =", "--model=^m^--framework=5^--soc_version=S^--output=o",
    "model= framework=5 soc_version=S output=o ", "flag-empty:model", false },
  { "empty free flag", FULL "--input_shape=", FULL_FLAGS "input_shape= ",
    "flag-empty-ignored:input_shape", false },
  { "blank at end", "--model=m ^--framework=5^--soc_version=S^--output=o",
    "model=m  framework=5 soc_version=S output=o ", "flag-blank-end:model", false },
  { "joined",
    "--model=m^--framework=5^--soc_version=S^--input_shape=images:1,3,8,8--output=o",
    "model=m framework=5 soc_version=S input_shape=images:1,3,8,8--output=o ",
    "flag-joined:input_shape flag-missing:output", false },
  { "two dashes in a name", "--model=a--b=c^--framework=5^--soc_version=S^--output=o",
    "model=a--b=c framework=5 soc_version=S output=o ", "", false },
  { "backslash blank", FULL " ", FULL_FLAGS, "word-blank: ", false },
  { "stray word", FULL "m.onnx", FULL_FLAGS, "word-stray:m.onnx", false },
  { "lone dash", FULL "-", FULL_FLAGS, "word-stray:-", false },
  { "quotes", FULL "--input_shape=\"x:1, 3\"", FULL_FLAGS "input_shape=x:1,3 ", "",
    false },
  { "quoted path", "--model=\"m\"^--framework=5^--soc_version=S^--output=o", FULL_FLAGS,
    "", false },
  { "json is ours", FULL "--json", FULL_FLAGS "as_json=true ", "", false },
  { "json before flags", "--json^" FULL, "as_json=true " FULL_FLAGS, "", false },
  { "json is atc's", FULL "--json=j", FULL_FLAGS "json=j ", "", false },
  { "json is atc's, next word", FULL "--json^j", FULL_FLAGS "json=j ", "", false },
  { "json behind dashes", "--^" FULL "--json", FULL_FLAGS, "flag-no-value:json", false },
  { "own under atc", FULL "--link", FULL_FLAGS "link=true ", "", true },
  { "own under atc, prefixed", FULL "--omcc-backend=atc", FULL_FLAGS "backend=atc ", "",
    true },
  { "json under atc", FULL "--json", FULL_FLAGS, "flag-no-value:json", true },
  { "missing all", "--log=null", "log=null ",
    "flag-missing-soc:soc_version flag-missing:output flag-missing:model "
    "flag-missing-framework:framework",
    false },
  { "caffe", "--model=m^--framework=0^--soc_version=S^--output=o",
    "model=m framework=0 soc_version=S output=o ", "flag-missing-weight:weight", false },
  { "both modes", FULL "--precision_mode=force_fp16^--precision_mode_v2=fp16",
    FULL_FLAGS "precision_mode=force_fp16 precision_mode_v2=fp16 ",
    "flags-both-modes:precision_mode_v2", false },
  { "one mode empty", FULL "--precision_mode=^--precision_mode_v2=fp16",
    FULL_FLAGS "precision_mode= precision_mode_v2=fp16 ",
    "flag-empty-ignored:precision_mode", false },
  { "mixlist alone", FULL "--modify_mixlist=f", FULL_FLAGS "modify_mixlist=f ",
    "flag-mixlist-mode:modify_mixlist", false },
  { "mixlist, mixed", FULL "--modify_mixlist=f^--precision_mode_v2=mixed_float16",
    FULL_FLAGS "modify_mixlist=f precision_mode_v2=mixed_float16 ", "", false },
  { "dynamic twice", FULL "--dynamic_dims=1^--dynamic_batch_size=1",
    FULL_FLAGS "dynamic_dims=1 dynamic_batch_size=1 ",
    "flags-exclusive-dynamic:dynamic_dims", false },
  { "aipp and dims", FULL "--dynamic_dims=1^--insert_op_conf=f",
    FULL_FLAGS "dynamic_dims=1 insert_op_conf=f ", "flags-exclusive:insert_op_conf",
    false },
  { "implmode list alone", FULL "--optypelist_for_implmode=Pow",
    FULL_FLAGS "optypelist_for_implmode=Pow ", "flag-needs:optypelist_for_implmode",
    false },
  { "compress twice", FULL "--enable_compress_weight=true^--compress_weight_conf=f",
    FULL_FLAGS "enable_compress_weight=true compress_weight_conf=f ",
    "flags-exclusive-compress:enable_compress_weight", false },
  { "removed", FULL "--auto_tune_mode=RL", FULL_FLAGS "auto_tune_mode=RL ",
    "flag-removed:auto_tune_mode", false },
  { "mode 6", "--mode=6^--om=f^--framework=5", "mode=6 om=f framework=5 ",
    "flag-mode6-framework:framework", false },
  { "mode 1", "--mode=1^--om=f", "mode=1 om=f ", "flag-missing-file:json", false },
};

static size_t split(char *text, const char **argv)
{
  size_t n = 0;
  char *save = NULL;

  for (char *w = strtok_r(text, "^", &save); w; w = strtok_r(NULL, "^", &save))
    argv[n++] = w;
  return n;
}

START_TEST(parse)
{
  const struct row *row = &rows[_i];
  struct oc_flags_options options = { .own = !row->as_atc };
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_flags flags;
  struct oc_buf got, told;
  const char *argv[32];
  char text[512];
  size_t n;

  oc_arena_init(&arena, 1 << 20);
  oc_findings_init(&findings, &arena);
  oc_buf_init(&got, 4096);
  oc_buf_init(&told, 4096);
  ck_assert(strlen(row->words) < sizeof(text));
  memcpy(text, row->words, strlen(row->words) + 1);
  n = split(text, argv);
  ck_assert_int_eq(
      oc_flags_parse(argv, n, &options, &arena, &flags, NULL, NULL, &findings, NULL), 0);
  for (size_t i = 0; i < flags.n; i++)
    oc_buf_printf(&got, "%s=%s ", flags.items[i].name, flags.items[i].value);
  for (size_t i = 0; i < findings.n; i++)
    oc_buf_printf(&told, "%s%s:%s", i ? " " : "",
                  oc_finding_info(findings.items[i].id)->id, findings.items[i].subject);
  ck_assert_msg(!strcmp(oc_buf_str(&got), row->flags), "%s: flags '%s'", row->id,
                oc_buf_str(&got));
  ck_assert_msg(!strcmp(oc_buf_str(&told), row->findings), "%s: findings '%s'", row->id,
                oc_buf_str(&told));
  oc_buf_clear(&got);
  oc_buf_clear(&told);
  oc_arena_clear(&arena);
}
END_TEST

START_TEST(words)
{
  static const char *const argv[] = { "a.om", "--as-json", "b.om" };
  struct oc_flags_options options = { .own = true, .no_rules = true, .words = true };
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_flags flags;
  const char **operands;
  size_t n;

  oc_arena_init(&arena, 1 << 20);
  oc_findings_init(&findings, &arena);
  ck_assert_int_eq(
      oc_flags_parse(argv, 3, &options, &arena, &flags, &operands, &n, &findings, NULL),
      0);
  ck_assert_uint_eq(n, 2);
  ck_assert_str_eq(operands[0], "a.om");
  ck_assert_str_eq(operands[1], "b.om");
  ck_assert(oc_flags_true(&flags, "as_json"));
  ck_assert_uint_eq(findings.n, 0);
  oc_arena_clear(&arena);
}
END_TEST

START_TEST(too_many)
{
  static const char *argv[600];
  struct oc_flags_options options = { .own = true };
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_flags flags;

  for (size_t i = 0; i < 600; i++)
    argv[i] = "--log=null";
  oc_arena_init(&arena, 1 << 20);
  oc_findings_init(&findings, &arena);
  ck_assert_int_eq(
      oc_flags_parse(argv, 600, &options, &arena, &flags, NULL, NULL, &findings, NULL),
      OC_E_LIMIT);
  oc_arena_clear(&arena);
}
END_TEST

TCase *parse_cases(void)
{
  TCase *t = tcase_create("parse");

  tcase_add_loop_test(t, parse, 0, sizeof(rows) / sizeof(rows[0]));
  tcase_add_test(t, words);
  tcase_add_test(t, too_many);
  return t;
}
