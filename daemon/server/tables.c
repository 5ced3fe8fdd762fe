/* Whose fault it is that there are no tables. A file of the user's own or of a toolkit is
 * a mistake of the request's kind: a finding with file and line, and exit status 2. */
#include "server/server_internal.h"

#include <string.h>

#include "base/str.h"

/* "'extra/mine.yaml' line 5: why" or "'extra/mine.yaml' line 5, column 3: why", as the
 * readers of tables write it. */
struct blame {
  struct oc_str file;
  uint32_t line;
  const char *why;
};

static bool parse(const char *text, struct blame *ret)
{
  const char *end = *text == '\'' ? strchr(text + 1, '\'') : NULL;
  uint64_t line = 0;

  if (!end)
    return false;
  ret->file = (struct oc_str){ text + 1, (size_t)(end - text - 1) };
  const char *p = end + 1;
  if (oc_starts_with(p, " line ")) {
    size_t n = strspn(p + 6, "0123456789");
    if (!oc_str_to_u64((struct oc_str){ p + 6, n }, &line) || line > UINT32_MAX)
      return false;
    p += 6 + n;
  }
  const char *colon = strstr(p, ": ");
  ret->line = (uint32_t)line;
  ret->why = colon ? colon + 2 : p + (*p == ' ');
  return true;
}

/* The name by which the user knows the file. */
static const char *path_of(const struct oc_server *s, struct oc_str file,
                           struct oc_arena *arena)
{
  const char *name = oc_arena_strndup(arena, file.p, file.len);

  if (name && oc_starts_with(name, "extra/") && s->o.tables_extra)
    return oc_arena_printf(arena, "%s/%s", s->o.tables_extra, name + strlen("extra/"));
  return name;
}

bool tables_are_to_blame(const struct oc_server *s)
{
  const char *error = s->tables_error;

  return oc_starts_with(error, "'extra/") || oc_starts_with(error, "'toolkit/") ||
         oc_starts_with(error, "'custom/");
}

bool tables_blame(struct order *o)
{
  struct blame b;

  if (!tables_are_to_blame(o->srv) || !parse(o->srv->tables_error, &b))
    return false;
  if (oc_findings_have_errors(&o->findings))
    return true; /* a second attempt: said already */
  const char *path = path_of(o->srv, b.file, &o->arena);
  if (!path)
    return false;
  struct oc_finding *f =
      oc_finding_add(&o->findings, OC_FINDING_TABLE_BAD, path, "why", b.why, NULL);
  f->file = path;
  f->line = b.line;
  order_set_failure(o, OC_STATUS_REQUEST, "an op table cannot be used");
  return true;
}
