/* Bytes as a list file; the first one says of which kind. Every list that is read is
 * written in its canonical form as well, and that form must be read again without loss.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lists/aipp.h"
#include "lists/lists.h"
#include "target.h"

#define TEXT_CAP ((size_t)16 << 20)

struct run {
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_buf text;
};

static void keep(struct run *r, const uint8_t *p, size_t len)
{
  struct oc_keep_list *list = NULL, *again = NULL;

  if (oc_keep_parse(&r->arena, p, len, 0, &r->findings, &list) < 0 || !list)
    return;
  /* A byte-order mark that an empty line hid is a name; in front it would be a mark. */
  if (oc_keep_canonical(list, &r->text) < 0 ||
      oc_str_starts((struct oc_str){ (const char *)r->text.data, r->text.len },
                    "\xef\xbb\xbf"))
    return;
  if (oc_keep_parse(&r->arena, r->text.data, r->text.len, 0, &r->findings, &again) == 0 &&
      again && again->n != list->n)
    abort();
}

static void custom(struct run *r, const uint8_t *p, size_t len)
{
  struct oc_custom_list *list = NULL;

  if (oc_custom_parse(&r->arena, p, len, 0, &r->findings, &list) == 0 && list)
    (void)oc_custom_canonical(list, &r->text);
  oc_custom_clear(list);
}

static void mix(struct run *r, const uint8_t *p, size_t len)
{
  struct oc_mix_list *list = NULL;

  if (oc_mix_parse(&r->arena, p, len, 0, &r->findings, &list) == 0 && list)
    (void)oc_mix_canonical(list, &r->text);
  oc_mix_clear(list);
}

static void impl(struct run *r, const uint8_t *p, size_t len)
{
  struct oc_impl_list *list = NULL;

  if (oc_impl_parse(&r->arena, p, len, 0, &r->findings, &list) == 0 && list)
    (void)oc_impl_canonical(list, &r->text);
}

static void aipp(struct run *r, const uint8_t *p, size_t len)
{
  struct oc_aipp_list list = { 0 };

  (void)oc_aipp_parse(&r->arena, p, len, &r->findings, &list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  static void (*const kinds[])(struct run *, const uint8_t *,
                               size_t) = { keep, custom, mix, impl, aipp };
  struct run r;

  if (len == 0)
    return 0;
  oc_arena_init(&r.arena, FUZZ_ARENA_CAP);
  oc_findings_init(&r.findings, &r.arena);
  oc_buf_init(&r.text, TEXT_CAP);
  kinds[data[0] % OC_COUNT(kinds)](&r, data + 1, len - 1);
  oc_buf_clear(&r.text);
  oc_arena_clear(&r.arena);
  return 0;
}
