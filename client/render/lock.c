/* The precision lock: what every op computes in, as text for version control.
 *
 *   # omcc precision lock 1
 *   op<TAB>name<TAB>type<TAB>engine<TAB>input dtypes<TAB>output dtypes
 *   dead<TAB>flag<TAB>state<TAB>list line
 *
 * Lines are sorted by bytes, so that a model that was written again in another order
 * gives the same file; ops that the import made stand under the name of what they were
 * made from. Constants are left out: their dtype is their reader's. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "render/render_internal.h"

#define HEAD   "# omcc precision lock 1\n"
#define INTRO  "# omcc explain --check-lock=FILE -- <flags> compares with it\n"
#define MOST   100u /* findings of one id */
#define FIELDS 6

static int field(const char *text, struct oc_buf *out)
{
  int rc = oc_buf_putc(out, '\t');

  for (; *text && !rc; text++)
    switch (*text) {
    case '\t': rc = oc_buf_puts(out, "\\t"); break;
    case '\n': rc = oc_buf_puts(out, "\\n"); break;
    case '\r': rc = oc_buf_puts(out, "\\r"); break;
    case '\\': rc = oc_buf_puts(out, "\\\\"); break;
    default: rc = oc_buf_putc(out, *text);
    }
  return rc;
}

static int dtypes(Omcc__V1__Tensor **list, size_t n, struct oc_buf *out)
{
  int rc = oc_buf_putc(out, '\t');

  for (size_t i = 0; i < n && !rc; i++)
    rc = oc_buf_printf(out, "%s%s", i ? "," : "", oc_render_dtype(list[i]->got));
  if (!rc && !n)
    rc = oc_buf_putc(out, '-');
  return rc;
}

/* A generated name may count; what it was generated from does not. */
static const char *stable_name(const Omcc__V1__Op *op)
{
  return op->n_origin_names ? op->origin_names[0] : op->name;
}

static int op_line(const Omcc__V1__Op *op, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, "op");

  if (!rc)
    rc = field(stable_name(op), out);
  if (!rc)
    rc = field(op->type, out);
  if (!rc)
    rc = field(op->engine, out);
  if (!rc)
    rc = dtypes(op->inputs, op->n_inputs, out);
  return rc ? rc : dtypes(op->outputs, op->n_outputs, out);
}

static int list_line(const Omcc__V1__ListEntry *e, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, "dead");

  if (!rc)
    rc = field(e->flag, out);
  if (!rc)
    rc = field(e->state, out);
  return rc ? rc : field(e->text, out);
}

static bool is_locked(const Omcc__V1__Op *op)
{
  return strcmp(op->type, "Const") != 0 && strcmp(op->type, "Constant") != 0;
}

static int by_bytes(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

struct lines {
  char **v;
  size_t n;
};

static void lines_free(struct lines *l)
{
  for (size_t i = 0; i < l->n; i++)
    free(l->v[i]);
  free(l->v);
  *l = (struct lines){ NULL, 0 };
}

static int keep_line(struct lines *l, struct oc_buf *text)
{
  l->v[l->n] = strdup(oc_buf_str(text));
  oc_buf_reset(text);
  if (!l->v[l->n])
    return OC_E_NOMEM;
  l->n++;
  return 0;
}

/* All lines of a report, sorted. */
static int report_lines(const Omcc__V1__Report *r, struct lines *ret)
{
  struct oc_buf text;
  int rc = 0;

  *ret = (struct lines){ calloc(r->n_ops + r->n_lists + 1, sizeof(char *)), 0 };
  if (!ret->v)
    return OC_E_NOMEM;
  oc_buf_init(&text, 1 << 20);
  for (size_t i = 0; i < r->n_ops && !rc; i++)
    if (is_locked(r->ops[i])) {
      rc = op_line(r->ops[i], &text);
      rc = rc ? rc : keep_line(ret, &text);
    }
  for (size_t i = 0; i < r->n_lists && !rc; i++)
    if (strcmp(r->lists[i]->state, "used")) {
      rc = list_line(r->lists[i], &text);
      rc = rc ? rc : keep_line(ret, &text);
    }
  oc_buf_clear(&text);
  qsort(ret->v, ret->n, sizeof(*ret->v), by_bytes);
  return rc;
}

int oc_render_lock(const Omcc__V1__Report *r, struct oc_buf *out)
{
  struct lines l;
  int rc = report_lines(r, &l);

  if (!rc)
    rc = oc_buf_puts(out, HEAD INTRO);
  for (size_t i = 0; i < l.n && !rc; i++) {
    rc = oc_buf_puts(out, l.v[i]);
    rc = rc ? rc : oc_buf_putc(out, '\n');
  }
  lines_free(&l);
  return rc;
}

/* ---- checking */

struct check {
  struct oc_findings *fs;
  const char *file;
  uint32_t counts[4];
};

/* Cuts a line into its fields in place; the number of fields. */
static size_t cut(char *line, char *ret[FIELDS])
{
  size_t n = 0;

  for (char *p = line; p && n < FIELDS; n++) {
    char *tab = strchr(p, '\t');

    ret[n] = p;
    if (tab)
      *tab++ = '\0';
    p = tab;
  }
  return n;
}

static struct oc_finding *tell(struct check *c, unsigned slot, enum oc_finding_id id,
                               const char *subject, const char *type, const char *was,
                               const char *now)
{
  if (++c->counts[slot] > MOST)
    return NULL;
  return oc_finding_add(c->fs, id, subject, "type", type, "was", was, "now", now, NULL);
}

/* "aicore float16,float16 -> float16" of a line that was cut. */
static const char *result_of(struct check *c, char *const f[FIELDS])
{
  const char *s = oc_arena_printf(c->fs->arena, "%s %s -> %s", f[3], f[4], f[5]);

  return s ? s : "";
}

static void tell_line(struct check *c, char *const f[FIELDS], bool is_new)
{
  if (oc_streq(f[0], "op"))
    tell(c, is_new, is_new ? OC_FINDING_LOCK_OP_NEW : OC_FINDING_LOCK_OP_GONE, f[1], f[2],
         result_of(c, f), result_of(c, f));
  else if (is_new) {
    struct oc_finding *one = tell(c, 2, OC_FINDING_LOCK_LIST_DEAD, f[3], f[1], "", f[2]);

    if (one)
      one->flag = oc_arena_strdup(c->fs->arena, f[1]);
    if (one && !one->flag)
      one->flag = "";
  }
}

/* Same op in both, another result. */
static bool same_op(char *const a[FIELDS], char *const b[FIELDS])
{
  return oc_streq(a[0], "op") && oc_streq(b[0], "op") && oc_streq(a[1], b[1]) &&
         oc_streq(a[2], b[2]);
}

/* Both lists are sorted: what stands in one only differs. */
static int compare(struct check *c, struct lines *old, struct lines *now)
{
  size_t i = 0, k = 0;

  while (i < old->n || k < now->n) {
    char *a[FIELDS] = { 0 }, *b[FIELDS] = { 0 };
    int order = i == old->n ? 1 : k == now->n ? -1 : strcmp(old->v[i], now->v[k]);

    if (!order) {
      i++;
      k++;
      continue;
    }
    char *line_a = i < old->n ? strdup(old->v[i]) : NULL;
    char *line_b = k < now->n ? strdup(now->v[k]) : NULL;
    if ((i < old->n && !line_a) || (k < now->n && !line_b)) {
      free(line_a);
      free(line_b);
      return OC_E_NOMEM;
    }
    if (line_a)
      cut(line_a, a);
    if (line_b)
      cut(line_b, b);
    if (line_a && line_b && same_op(a, b)) {
      tell(c, 3, OC_FINDING_LOCK_DTYPE, a[1], a[2], result_of(c, a), result_of(c, b));
      i++;
      k++;
    } else if (order < 0) {
      tell_line(c, a, false);
      i++;
    } else {
      tell_line(c, b, true);
      k++;
    }
    free(line_a);
    free(line_b);
  }
  return 0;
}

static bool well_formed(const char *line)
{
  size_t tabs = 0;

  for (const char *p = line; *p; p++)
    tabs += *p == '\t';
  return (oc_starts_with(line, "op\t") && tabs == FIELDS - 1) ||
         (oc_starts_with(line, "dead\t") && tabs == 3);
}

static int bad_lock(struct check *c, uint32_t line, const char *why)
{
  struct oc_finding *f =
      oc_finding_add(c->fs, OC_FINDING_LOCK_UNREADABLE, c->file, "why", why, NULL);

  f->line = line;
  f->file = c->file;
  return OC_E_FORMAT;
}

static int read_lock(struct check *c, const char *text, size_t len, struct lines *ret)
{
  size_t n = 1;
  uint32_t number = 0;

  if (len < sizeof(HEAD) - 1 || memcmp(text, HEAD, sizeof(HEAD) - 1))
    return bad_lock(c, 1, "it does not begin as a lock of this version does");
  for (size_t i = 0; i < len; i++)
    n += text[i] == '\n';
  *ret = (struct lines){ calloc(n, sizeof(char *)), 0 };
  if (!ret->v)
    return OC_E_NOMEM;
  for (const char *p = text, *end = text + len; p < end;) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    size_t size = (size_t)((stop ? stop : end) - p);

    number++;
    if (size && p[size - 1] == '\r')
      size--;
    if (size && *p != '#') {
      char *line = strndup(p, size);
      if (!line)
        return OC_E_NOMEM;
      ret->v[ret->n++] = line;
      if (!well_formed(line))
        return bad_lock(c, number, "a line is neither an op nor a dead list line");
    }
    p = stop ? stop + 1 : end;
  }
  qsort(ret->v, ret->n, sizeof(*ret->v), by_bytes);
  return 0;
}

int oc_render_check_lock(const char *text, size_t len, const char *file,
                         const Omcc__V1__Report *r, struct oc_findings *fs)
{
  struct check c = { .fs = fs, .file = file };
  struct lines old = { 0 }, now = { 0 };
  int rc = read_lock(&c, text, len, &old);

  if (!rc)
    rc = report_lines(r, &now);
  if (!rc)
    rc = compare(&c, &old, &now);
  for (size_t i = 0; i < sizeof(c.counts) / sizeof(c.counts[0]) && !rc; i++)
    if (c.counts[i] > MOST)
      oc_finding_add(fs, OC_FINDING_FINDINGS_CAPPED, file, "n",
                     oc_arena_printf(fs->arena, "%u", c.counts[i] - MOST), NULL);
  lines_free(&old);
  lines_free(&now);
  return rc;
}
