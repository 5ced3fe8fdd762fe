/* The same file under another name.
 *
 * A name occurs in the header, as the model's name, as the entry graph's name and inside
 * the recorded command line. MODEL_DEF is copied field by field with three of them
 * replaced; every other byte stays. Its size may change, so its table entry, the offsets
 * behind it and the body length change too. All other partitions are copied as they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "om_internal.h"

#define COPY_STEP (1u << 20)

struct relabel {
  struct oc_str old; /* the name until now */
  const char *label;
  const char *cmdline; /* NULL: only the value of --output */
};

/* The command line with the value of --output (or -output, or the next word) replaced. */
static void new_cmdline(struct oc_buf *out, struct oc_str line, const struct relabel *r)
{
  static const char flag[] = "-output";
  size_t k = sizeof flag - 1;

  if (r->cmdline) {
    oc_buf_puts(out, r->cmdline);
    return;
  }
  size_t at = 0;
  while (at < line.len) {
    size_t end = at;
    while (end < line.len && line.p[end] != ' ')
      end++;
    size_t word = at;
    if (end - word > 1 && line.p[word] == '-' && line.p[word + 1] == '-')
      word++;
    bool is = end - word >= k && memcmp(line.p + word, flag, k) == 0;
    if (is && end - word > k && line.p[word + k] == '=') {
      oc_buf_append(out, line.p + at, word + k + 1 - at);
      oc_buf_puts(out, r->label);
    } else if (is && end - word == k && end < line.len) {
      oc_buf_append(out, line.p + at, end + 1 - at);
      oc_buf_puts(out, r->label);
      for (end++; end < line.len && line.p[end] != ' ';)
        end++;
    } else {
      oc_buf_append(out, line.p + at, end - at);
    }
    if (end < line.len)
      oc_buf_putc(out, ' ');
    at = end + 1;
  }
}

/* One attribute of the model: the command line is replaced, the rest copied. */
static bool new_attr(struct oc_buf *out, struct oc_str entry, const struct relabel *r)
{
  struct oc_wire w, v;
  struct oc_field f, g;
  struct oc_str key = { "", 0 }, line = { "", 0 };

  oc_wire_open(&w, entry.p, entry.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1)
      key = oc_field_str(&f);
    if (f.number != 2 || f.type != OC_WIRE_BYTES)
      continue;
    oc_wire_open(&v, f.data, f.len);
    while (oc_wire_next(&v, &g))
      if (g.number == 2)
        line = oc_field_str(&g);
  }
  if (w.bad || !oc_str_is(key, "atc_cmdline"))
    return false;
  struct oc_buf text, value, whole;
  oc_buf_init(&text, OC_MAX_FRAME);
  oc_buf_init(&value, OC_MAX_FRAME);
  oc_buf_init(&whole, OC_MAX_FRAME);
  new_cmdline(&text, line, r);
  oc_wire_put_bytes(&value, 2, text.data, text.len);
  oc_wire_put_bytes(&whole, 1, key.p, key.len);
  oc_wire_put_message(&whole, 2, &value);
  oc_wire_put_message(out, 11, &whole);
  out->failed = out->failed || text.failed;
  oc_buf_clear(&text);
  oc_buf_clear(&value);
  oc_buf_clear(&whole);
  return true;
}

/* Is `name` the entry graph's name that belongs to the model name `old`: "<old>_0"? */
static bool is_graph_name(struct oc_str name, struct oc_str old)
{
  return name.len == old.len + 2 && memcmp(name.p, old.p, old.len) == 0 &&
         memcmp(name.p + old.len, "_0", 2) == 0;
}

static int new_graph(struct oc_buf *out, struct oc_str graph, const struct relabel *r,
                     struct oc_error *err)
{
  struct oc_wire w;
  struct oc_field f;
  struct oc_buf copy;
  const uint8_t *from = (const uint8_t *)graph.p;

  oc_buf_init(&copy, OC_MAX_MODEL_DEF);
  oc_wire_open(&w, graph.p, graph.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 1 && is_graph_name(oc_field_str(&f), r->old)) {
      struct oc_buf name;
      oc_buf_init(&name, OC_MAX_FRAME);
      oc_buf_printf(&name, "%s_0", r->label);
      oc_wire_put_message(&copy, 1, &name);
      oc_buf_clear(&name);
    } else {
      oc_buf_append(&copy, from, (size_t)(w.p - from));
    }
    from = w.p;
  }
  oc_wire_put_message(out, 7, &copy);
  oc_buf_clear(&copy);
  return w.bad ? oc_error_set(err, OC_E_FORMAT, "MODEL_DEF: %s", w.why) : 0;
}

static int new_def(struct oc_buf *out, struct oc_str def, struct relabel *r,
                   struct oc_error *err)
{
  struct oc_wire w;
  struct oc_field f;
  const uint8_t *from = (const uint8_t *)def.p;
  bool first_graph = true;
  int rc = 0;

  oc_wire_open(&w, def.p, def.len);
  while (oc_wire_next(&w, &f))
    if (f.number == 1)
      r->old = oc_field_str(&f);
  oc_wire_open(&w, def.p, def.len);
  while (rc == 0 && oc_wire_next(&w, &f)) {
    if (f.number == 1) {
      oc_wire_put_string(out, 1, r->label);
    } else if (f.number == 7 && first_graph) {
      rc = new_graph(out, oc_field_str(&f), r, err);
      first_graph = false;
    } else if (f.number != 11 || !new_attr(out, oc_field_str(&f), r)) {
      oc_buf_append(out, from, (size_t)(w.p - from));
    }
    from = w.p;
  }
  if (rc < 0)
    return rc;
  if (w.bad)
    return oc_error_set(err, OC_E_FORMAT, "MODEL_DEF: %s", w.why);
  if (out->failed)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory for MODEL_DEF");
  return 0;
}

static int write_all(int fd, uint64_t at, const void *p, size_t len, struct oc_error *err)
{
  const uint8_t *from = p;

  while (len > 0) {
    ssize_t n = pwrite(fd, from, len, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return oc_error_errno(err,
                            errno == ENOSPC || errno == EDQUOT ? OC_E_LIMIT : OC_E_IO,
                            "cannot write the .om file");
    from += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return 0;
}

/* `len` bytes from `from` of the source to `to`: in the kernel where possible. */
static int copy_range(const struct oc_om_source *in, uint64_t from, int fd, uint64_t to,
                      uint64_t len, struct oc_error *err)
{
  auto_free uint8_t *buf = NULL;
  bool in_kernel = !in->data;

  while (len > 0) {
    size_t step = len < COPY_STEP ? (size_t)len : COPY_STEP;
    ssize_t n = 0;
    if (in_kernel) {
      off_t a = (off_t)from, b = (off_t)to;
      n = copy_file_range(in->fd, &a, fd, &b, (size_t)len, 0);
      in_kernel = n > 0;
    }
    if (n <= 0) {
      if (!buf)
        buf = malloc(COPY_STEP);
      if (!buf)
        return oc_error_set(err, OC_E_NOMEM, "not enough memory");
      int rc = oc_om_source_read(in, from, buf, step, err);
      if (rc == 0)
        rc = write_all(fd, to, buf, step, err);
      if (rc < 0)
        return rc;
      n = (ssize_t)step;
    }
    from += (uint64_t)n;
    to += (uint64_t)n;
    len -= (uint64_t)n;
  }
  return 0;
}

/* Header and tables with the new sizes; the first model's MODEL_DEF has `def_len` bytes.
 */
static int write_head(const struct oc_om_file *f, const struct oc_om_part *def,
                      size_t def_len, const char *label, int fd, struct oc_error *err)
{
  const struct oc_om_model *m = &f->models[0];
  size_t head = f->wide_table ? 8 : 4, entry = f->wide_table ? 24 : 12;
  size_t len = OC_OM_HEADER_SIZE + head + entry * (size_t)m->n_parts;
  auto_free uint8_t *b = malloc(len);
  char name[OC_OM_NAME_SIZE];
  int64_t grown = (int64_t)def_len - (int64_t)def->size;

  if (!b)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  int rc = oc_om_source_read(&f->source, 0, b, len, err);
  if (rc < 0)
    return rc;
  oc_om_label_of(label, name);
  memcpy(b + 84, name, sizeof name);
  if (f->header.model_length)
    om_set64(b + 184, f->header.model_length + (uint64_t)grown);
  else
    om_set32(b + 76, (uint32_t)(f->header.length + (uint64_t)grown));
  uint64_t sum = 0;
  for (uint32_t i = 0; i < m->n_parts; i++) {
    uint8_t *e = b + OC_OM_HEADER_SIZE + head + entry * (size_t)i;
    uint64_t size = &m->parts[i] == def ? def_len : m->parts[i].size;
    if (f->wide_table) {
      om_set64(e + 8, sum);
      om_set64(e + 16, size);
    } else {
      om_set32(e + 4, (uint32_t)sum);
      om_set32(e + 8, (uint32_t)size);
    }
    sum += size;
  }
  return write_all(fd, 0, b, len, err);
}

int oc_om_relabel(struct oc_om_source in, int out_fd, const char *label,
                  const char *cmdline, struct oc_error *err)
{
  struct relabel r = { .label = label, .cmdline = cmdline };
  struct oc_arena arena;
  struct oc_om_file *f = NULL;
  struct oc_str bytes = { "", 0 };
  struct oc_buf out;

  oc_arena_init(&arena, 0);
  oc_buf_init(&out, OC_MAX_MODEL_DEF);
  int rc = oc_om_open(in, &arena, &f, err);
  const struct oc_om_part *def =
      rc == 0 ? oc_om_find_part(&f->models[0], OC_OM_MODEL_DEF) : NULL;
  if (rc == 0 && (f->bundle || !def || def->size > OC_MAX_MODEL_DEF))
    rc = oc_error_set(err, OC_E_FORMAT,
                      "this kind of .om file cannot be given another name");
  if (rc == 0)
    rc = oc_om_load_part(f, def, &arena, &bytes, err);
  if (rc == 0)
    rc = new_def(&out, bytes, &r, err);
  if (rc == 0)
    rc = write_head(f, def, out.len, label, out_fd, err);
  /* everything between the table and MODEL_DEF, MODEL_DEF, everything behind it */
  if (rc == 0)
    rc = copy_range(&in, f->models[0].parts[0].at, out_fd, f->models[0].parts[0].at,
                    def->at - f->models[0].parts[0].at, err);
  if (rc == 0)
    rc = write_all(out_fd, def->at, out.data, out.len, err);
  if (rc == 0)
    rc = copy_range(&in, def->at + def->size, out_fd, def->at + out.len,
                    in.size - def->at - def->size, err);
  oc_buf_clear(&out);
  oc_arena_clear(&arena);
  return rc;
}
