/* "Why": what differs between two lists of parts, with both values; for contents the
 * lines. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "key/key.h"

/* Lines shown of each side of a content. */
#define SHOWN_LINES 20
/* A line or value in a sentence. */
#define SHOWN_BYTES 120

static bool same(const struct oc_key_part *a, const struct oc_key_part *b)
{
  return a->kind == b->kind && memcmp(a->sha256, b->sha256, OC_SHA256_LEN) == 0;
}

static struct oc_str next_line(struct oc_str *rest)
{
  const char *end = memchr(rest->p, '\n', rest->len);
  struct oc_str line = { rest->p, end ? (size_t)(end - rest->p) : rest->len };
  size_t used = line.len + (end ? 1 : 0);

  rest->p += used;
  rest->len -= used;
  return line;
}

/* Lines of `a` that `b` does not have, counted: a doubled line differs from a single one.
 * Counts are kept in the map as small integers. */
static int lines_only_in(const struct oc_key_part *a, const struct oc_key_part *b,
                         struct oc_arena *arena, const char **ret)
{
  struct oc_map counts = { 0 };
  struct oc_str rest = { b->text, b->text_len };
  struct oc_buf out;
  size_t shown = 0, more = 0;
  int rc = 0;

  while (rest.len && rc == 0) {
    struct oc_str line = next_line(&rest);
    rc = oc_map_put(&counts, line, (void *)((uintptr_t)oc_map_get(&counts, line) + 1));
  }
  oc_buf_init(&out, 2 * OC_KEY_TEXT_MAX);
  rest = (struct oc_str){ a->text, a->text_len };
  while (rest.len && rc == 0) {
    struct oc_str line = next_line(&rest);
    uintptr_t n = (uintptr_t)oc_map_get(&counts, line);
    if (n) {
      rc = oc_map_put(&counts, line, (void *)(n - 1));
    } else if (shown == SHOWN_LINES) {
      more++;
    } else {
      shown++;
      oc_buf_append(&out, line.p, line.len);
      oc_buf_putc(&out, '\n');
    }
  }
  if (more)
    oc_buf_printf(&out, "and %zu more\n", more);
  *ret = oc_arena_strdup(arena, oc_buf_str(&out));
  if (!*ret || out.failed)
    rc = OC_E_NOMEM;
  oc_buf_clear(&out);
  oc_map_clear(&counts);
  return rc;
}

static int differ(const struct oc_key_part *then, const struct oc_key_part *now,
                  struct oc_arena *arena, struct oc_key_difference *ret)
{
  int rc = 0;

  ret->name = now->name;
  ret->kind = now->kind;
  ret->then = then->text;
  ret->now = now->text;
  if (now->kind != OC_KEY_CONTENT || then->kind != OC_KEY_CONTENT)
    return 0;
  rc = lines_only_in(then, now, arena, &ret->then);
  if (rc == 0)
    rc = lines_only_in(now, then, arena, &ret->now);
  if (rc == 0 && !*ret->then && !*ret->now) {
    /* The shown lines are equal as a set. */
    bool cut = then->cut || now->cut;
    ret->then = cut ? "other lines further down\n" : "the same lines in another order\n";
  }
  return rc;
}

int oc_key_compare(const struct oc_key_parts *then, const struct oc_key_parts *now,
                   struct oc_arena *arena, struct oc_key_difference **ret, size_t *ret_n)
{
  struct oc_map old = { 0 }, new = { 0 };
  struct oc_key_difference *out =
      OC_NEW_N(arena, struct oc_key_difference, then->n + now->n + 1);
  size_t n = 0;
  int rc = out ? 0 : OC_E_NOMEM;

  for (size_t i = 0; i < then->n && rc == 0; i++)
    rc = oc_map_puts(&old, then->items[i].name, &then->items[i]);
  for (size_t i = 0; i < now->n && rc == 0; i++)
    rc = oc_map_puts(&new, now->items[i].name, &now->items[i]);
  for (size_t i = 0; i < now->n && rc == 0; i++) {
    const struct oc_key_part *b = &now->items[i], *a = oc_map_gets(&old, b->name);
    if (!a)
      out[n++] = (struct oc_key_difference){ b->name, b->kind, NULL, b->text };
    else if (!same(a, b))
      rc = differ(a, b, arena, &out[n++]);
  }
  for (size_t i = 0; i < then->n && rc == 0; i++) {
    const struct oc_key_part *a = &then->items[i];
    if (!oc_map_gets(&new, a->name))
      out[n++] = (struct oc_key_difference){ a->name, a->kind, a->text, NULL };
  }
  oc_map_clear(&old);
  oc_map_clear(&new);
  if (rc < 0)
    return rc;
  *ret = out;
  *ret_n = n;
  return 0;
}

/* ---------------------------------------------------------------- sentences */

/* The first line of a value, shortened. */
static void put_short(struct oc_buf *out, const char *value)
{
  size_t len = strcspn(value, "\n");
  bool cut = len > SHOWN_BYTES;

  if (cut)
    for (len = SHOWN_BYTES; len && ((unsigned char)value[len] & 0xc0) == 0x80;)
      len--; /* not inside a UTF-8 character */
  oc_buf_append(out, value, len);
  if (cut)
    oc_buf_puts(out, "...");
}

static void put_lines(struct oc_buf *out, const struct oc_key_difference *d)
{
  if (*d->now) {
    oc_buf_puts(out, " has the line '");
    put_short(out, d->now);
    oc_buf_puts(out, "'");
  }
  if (*d->then) {
    oc_buf_puts(out, *d->now ? ", had '" : " had '");
    put_short(out, d->then);
    oc_buf_puts(out, "'");
  }
}

int oc_key_difference_text(const struct oc_key_difference *d, struct oc_buf *out)
{
  bool digest = d->kind == OC_KEY_DIGEST;

  oc_buf_puts(out, d->name);
  if (!d->then || !d->now) {
    oc_buf_puts(out, d->now ? " was not given" : " is not given any more");
  } else if (d->kind == OC_KEY_CONTENT) {
    put_lines(out, d);
  } else if (digest) {
    oc_buf_printf(out, ": other content (sha256 %.12s, was %.12s)", d->now, d->then);
  } else {
    oc_buf_puts(out, " is '");
    put_short(out, d->now);
    oc_buf_puts(out, "', was '");
    put_short(out, d->then);
    oc_buf_puts(out, "'");
  }
  return out->failed ? OC_E_NOMEM : 0;
}

/* ---------------------------------------------------------------- the nearest entry */

/* Differences to one stored blob; OC_E_FORMAT when it cannot be read. */
static int compare_blob(const struct oc_key_parts *now, const struct oc_key_blob *blob,
                        struct oc_arena *arena, struct oc_key_difference **ret,
                        size_t *ret_n)
{
  struct oc_key_parts then;

  oc_key_parts_init(&then, arena);
  int rc = oc_key_parts_unpack(blob->p, blob->len, &then, NULL);
  return rc < 0 ? rc : oc_key_compare(&then, now, arena, ret, ret_n);
}

int oc_key_nearest(const struct oc_key_parts *now, const struct oc_key_blob *blobs,
                   size_t n, struct oc_arena *arena, size_t *ret_index,
                   struct oc_key_difference **ret, size_t *ret_n)
{
  struct oc_key_difference *best = NULL;
  size_t best_n = 0, best_index = 0;
  bool found = false;

  for (size_t i = 0; i < n; i++) {
    struct oc_key_difference *d = NULL;
    size_t n_d = 0;
    int rc = compare_blob(now, &blobs[i], arena, &d, &n_d);
    if (rc == OC_E_NOMEM)
      return rc;
    if (rc < 0 || (found && n_d >= best_n))
      continue;
    found = true;
    best = d;
    best_n = n_d;
    best_index = i;
  }
  if (!found)
    return 0;
  *ret_index = best_index;
  *ret = best;
  *ret_n = best_n;
  return 1;
}
