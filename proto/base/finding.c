/* Findings are kept as id and arguments; sentences are made at the very end, by filling
 * the register's templates. A short of memory never loses the fact that there was one:
 * the arena's `failed` says so, and the caller gets a dummy to write its place into. */
#include "base/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/finding_internal.h"
#include "base/str.h"

#define FIRST_ROOM ((size_t)8)
/* A sentence with more than this many blanks to fill is no sentence. */
#define MOST_ARGS 12

void oc_findings_init(struct oc_findings *fs, struct oc_arena *arena)
{
  *fs = (struct oc_findings){ .arena = arena };
}

static bool make_room(struct oc_findings *fs)
{
  if (fs->n < fs->room)
    return true;
  size_t room = fs->room ? fs->room * 2 : FIRST_ROOM;
  struct oc_finding *items =
      oc_arena_grow(fs->arena, fs->items, fs->n, room, sizeof(*items));
  if (!items)
    return false;
  fs->items = items;
  fs->room = room;
  return true;
}

/* The copied arguments; NULL when memory is short. */
static struct oc_finding_arg *copy_args(struct oc_arena *arena,
                                        const struct oc_finding_arg *from, size_t n)
{
  struct oc_finding_arg *args = OC_NEW_N(arena, struct oc_finding_arg, n);

  for (size_t i = 0; args && i < n; i++) {
    args[i].name = oc_arena_strdup(arena, from[i].name);
    args[i].value = oc_arena_strdup(arena, from[i].value ? from[i].value : "");
    if (!args[i].name || !args[i].value)
      return NULL;
  }
  return args;
}

struct oc_finding *oc_finding_add_args(struct oc_findings *fs, enum oc_finding_id id,
                                       const char *subject,
                                       const struct oc_finding_arg *args, size_t n_args)
{
  static _Thread_local struct oc_finding dummy;
  struct oc_finding_arg *copy = copy_args(fs->arena, args, n_args);
  char *name = oc_arena_strdup(fs->arena, subject ? subject : "");
  struct oc_finding f = { .id = id,
                          .severity = oc_finding_info(id)->severity,
                          .subject = "",
                          .flag = "",
                          .file = "" };

  if (!name || !copy || !make_room(fs)) {
    fs->arena->failed = true;
    dummy = f;
    return &dummy;
  }
  f.subject = name;
  f.args = copy;
  f.n_args = n_args;
  fs->items[fs->n] = f;
  return &fs->items[fs->n++];
}

struct oc_finding *oc_finding_add(struct oc_findings *fs, enum oc_finding_id id,
                                  const char *subject, ...)
{
  struct oc_finding_arg args[MOST_ARGS];
  size_t n = 0;
  va_list ap;

  va_start(ap, subject);
  for (const char *name = va_arg(ap, const char *); name;
       name = va_arg(ap, const char *)) {
    assert(n < MOST_ARGS);
    args[n++] = (struct oc_finding_arg){ name, va_arg(ap, const char *) };
  }
  va_end(ap);
  return oc_finding_add_args(fs, id, subject, args, n);
}

size_t oc_findings_count(const struct oc_findings *fs, enum oc_severity at_least)
{
  size_t n = 0;

  for (size_t i = 0; i < fs->n; i++)
    n += fs->items[i].severity >= at_least;
  return n;
}

bool oc_findings_have_errors(const struct oc_findings *fs)
{
  return oc_findings_count(fs, OC_SEV_ERROR) > 0;
}

const struct oc_finding_info *oc_finding_info(enum oc_finding_id id)
{
  assert((unsigned)id < OC_FINDING_COUNT);
  return &oc_finding_table[id];
}

bool oc_finding_by_name(const char *id, enum oc_finding_id *ret)
{
  for (unsigned i = 0; i < OC_FINDING_COUNT; i++) {
    if (oc_streq(oc_finding_table[i].id, id)) {
      *ret = (enum oc_finding_id)i;
      return true;
    }
  }
  return false;
}

const char *oc_severity_name(enum oc_severity s)
{
  static const char *const names[] = { "note", "warning", "error" };

  assert((unsigned)s < 3);
  return names[s];
}

static const char *argument(const struct oc_finding *f, const char *name, size_t len)
{
  struct oc_str key = { name, len };

  if (oc_str_is(key, "subject"))
    return f->subject;
  for (size_t i = 0; i < f->n_args; i++) {
    if (oc_str_is(key, f->args[i].name))
      return f->args[i].value;
  }
  return NULL;
}

int oc_finding_format(const char *tmpl, const struct oc_finding *f, struct oc_buf *out)
{
  const char *p = tmpl;

  while (*p) {
    const char *open = strchr(p, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    if (!close)
      return oc_buf_puts(out, p);
    const char *value = argument(f, open + 1, (size_t)(close - open - 1));
    oc_buf_append(out, p, (size_t)(open - p));
    if (value) {
      oc_buf_puts(out, value);
      p = close + 1;
    } else {
      oc_buf_putc(out, '{'); /* an inner brace may still open a real name */
      p = open + 1;
    }
  }
  return out->failed ? OC_E_NOMEM : 0;
}
