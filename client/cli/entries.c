/* How entries of the cache and differences between requests are shown: shared by the
 * verbs about the cache. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "cli/entries.h"

static void hex_of(ProtobufCBinaryData d, char ret[129])
{
  oc_hex(d.data, d.len < 64 ? d.len : 64, ret);
}

void entry_json(struct oc_json_writer *w, const Omcc__V1__CacheEntry *e)
{
  char hex[129];

  hex_of(e->key, hex);
  oc_json_begin_object(w, NULL);
  oc_json_put_string(w, "key", hex);
  oc_json_put_string(w, "model", e->model);
  oc_json_put_string(w, "soc", e->soc);
  oc_json_put_string(w, "mode", e->mode);
  oc_json_put_string(w, "backend", e->backend);
  oc_json_put_string(w, "toolkit", e->toolkit);
  oc_json_put_u64(w, "size", e->size);
  oc_json_put_u64(w, "created_s", e->created_s);
  oc_json_put_u64(w, "used_s", e->used_s);
  oc_json_put_u64(w, "hits", e->hits);
  oc_json_put_u64(w, "compile_ms", e->compile_ms);
  oc_json_put_bool(w, "pinned", e->pinned_s != 0);
  oc_json_end_object(w);
}

void entry_text(const Omcc__V1__CacheEntry *e, uint64_t now, struct oc_buf *out)
{
  struct oc_buf cell;
  char hex[13] = "";

  if (e->key.len >= 6)
    oc_hex(e->key.data, 6, hex);
  cli_buf(&cell);
  oc_buf_printf(out, "%-12s  ", hex);
  oc_render_size(e->size, &cell);
  oc_buf_printf(out, "%9s  %4" PRIu64 " hits  ", oc_buf_str(&cell), e->hits);
  oc_buf_reset(&cell);
  oc_render_duration(now > e->used_s ? (now - e->used_s) * 1000 : 0, &cell);
  oc_buf_printf(out, "used %s ago  %s  %s  %s  ", oc_buf_str(&cell), e->soc, e->backend,
                e->mode);
  oc_render_plain(e->model, out);
  if (e->pinned_s)
    oc_buf_puts(out, "  pinned");
  oc_buf_putc(out, '\n');
  oc_buf_clear(&cell);
}

void differences_json(struct oc_json_writer *w, Omcc__V1__Difference *const *list,
                      size_t n)
{
  oc_json_begin_array(w, "differences");
  for (size_t i = 0; i < n; i++) {
    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "part", list[i]->name);
    oc_json_put_string(w, "kind", list[i]->kind);
    oc_json_put_string(w, "then", list[i]->has_then ? list[i]->then : NULL);
    oc_json_put_string(w, "now", list[i]->has_now ? list[i]->now : NULL);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

/* Each line of a list with a sign before it. */
static void put_lines(struct oc_buf *out, char sign, const char *text)
{
  while (*text) {
    size_t len = strcspn(text, "\n");
    struct oc_buf line;

    cli_buf(&line);
    oc_buf_append(&line, text, len);
    oc_buf_printf(out, "    %c ", sign);
    oc_render_plain(oc_buf_str(&line), out);
    oc_buf_putc(out, '\n');
    oc_buf_clear(&line);
    text += len + (text[len] == '\n');
  }
}

static void put_value(struct oc_buf *out, const char *word, bool has, const char *value)
{
  oc_buf_printf(out, "    %s ", word);
  if (has)
    oc_render_plain(*value ? value : "(empty)", out);
  else
    oc_buf_puts(out, "(not there)");
  oc_buf_putc(out, '\n');
}

void differences_text(struct oc_buf *out, Omcc__V1__Difference *const *list, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    const Omcc__V1__Difference *d = list[i];

    oc_buf_puts(out, "  ");
    oc_render_plain(d->name, out);
    oc_buf_putc(out, '\n');
    if (!strcmp(d->kind, "content") && d->has_then && d->has_now) {
      put_lines(out, '-', d->then);
      put_lines(out, '+', d->now);
    } else {
      put_value(out, "then", d->has_then, d->then);
      put_value(out, "now ", d->has_now, d->now);
    }
  }
}

void counter_text(struct oc_buf *text, const Omcc__V1__Counter *c)
{
  bool bytes = !strcmp(c->name, "bytes") || !strcmp(c->name, "max_bytes");

  oc_buf_printf(text, "%" PRIu64, c->value);
  if (!c->value || (!bytes && strcmp(c->name, "saved_ms") != 0))
    return;
  oc_buf_puts(text, " (");
  if (bytes)
    oc_render_size(c->value, text);
  else
    oc_render_duration(c->value, text);
  oc_buf_putc(text, ')');
}
