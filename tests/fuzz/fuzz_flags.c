/* Bytes as a command line: words are ended by zero bytes, the first byte says for which
 * command. What is understood is checked for both backends and normalised. */
#include <string.h>

#include "base/cleanup.h"
#include "flags/flags.h"
#include "target.h"

#define MOST_WORDS 64

static size_t split(const uint8_t *data, size_t len, struct oc_arena *arena,
                    const char **words)
{
  size_t n = 0;

  while (len > 0 && n < MOST_WORDS) {
    size_t word = strnlen((const char *)data, len);
    size_t step = word < len ? word + 1 : len;
    words[n++] = oc_arena_strndup(arena, (const char *)data, word);
    data += step;
    len -= step;
  }
  return n;
}

/* As the daemon does with what a client sends. */
static void check_again(const struct oc_flags *flags, struct oc_arena *arena,
                        struct oc_findings *findings)
{
  struct oc_flag_normal *normal = NULL;
  struct oc_flags sent;
  size_t n = 0;

  oc_flags_init(&sent, arena);
  for (size_t i = 0; i < flags->n; i++)
    (void)oc_flags_set(&sent, flags->items[i].name, flags->items[i].value);
  oc_flags_check_rules(&sent, findings);
  oc_flags_check_backend(&sent, OC_FLAGS_BUILTIN, findings);
  oc_flags_check_backend(&sent, OC_FLAGS_ATC, findings);
  oc_flags_check_own(&sent, findings);
  oc_flags_check_paths(&sent, findings);
  (void)oc_flags_mode(&sent);
  (void)oc_flags_uncached(&sent);
  (void)oc_flags_precision(&sent, NULL);
  (void)oc_flags_normal(&sent, arena, &normal, &n);
}

static void tell(const struct oc_findings *findings)
{
  struct oc_buf text;

  oc_buf_init(&text, 1u << 16);
  for (size_t i = 0; i < findings->n; i++) {
    const struct oc_finding *f = &findings->items[i];
    (void)oc_finding_format(oc_finding_info(f->id)->text, f, &text);
  }
  oc_buf_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  const char *words[MOST_WORDS], **rest = NULL;
  struct oc_findings findings;
  struct oc_error err = { 0 };
  struct oc_flags flags;
  struct oc_arena arena;
  size_t n_rest = 0;

  if (len == 0)
    return 0;
  const struct oc_flags_options options = { .own = data[0] & 1,
                                            .no_rules = data[0] & 2,
                                            .no_output = data[0] & 4,
                                            .words = data[0] & 8 };
  oc_arena_init(&arena, FUZZ_ARENA_CAP);
  oc_findings_init(&findings, &arena);
  size_t n = split(data + 1, len - 1, &arena, words);
  if (oc_flags_parse(words, n, &options, &arena, &flags, &rest, &n_rest, &findings,
                     &err) == 0)
    check_again(&flags, &arena, &findings);
  tell(&findings);
  oc_arena_clear(&arena);
  return 0;
}
