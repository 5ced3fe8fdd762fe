/* Findings to messages and back. The id travels as text, because the two sides may be of
 * different builds: what this one does not know is still shown, as what it is. */
#include "messages/messages.h"

static char *copy(struct oc_arena *arena, const char *s)
{
  return oc_arena_strdup(arena, s ? s : "");
}

static int copy_args(const struct oc_finding *f, Omcc__V1__Finding *m,
                     struct oc_arena *arena)
{
  m->args = OC_NEW_N(arena, Omcc__V1__Argument *, f->n_args);
  if (!m->args)
    return OC_E_NOMEM;
  for (size_t i = 0; i < f->n_args; i++) {
    Omcc__V1__Argument *a = OC_NEW(arena, Omcc__V1__Argument);
    if (!a)
      return OC_E_NOMEM;
    omcc__v1__argument__init(a);
    a->name = copy(arena, f->args[i].name);
    a->value = copy(arena, f->args[i].value);
    m->args[m->n_args++] = a;
  }
  return 0;
}

Omcc__V1__Finding *oc_finding_to_message(const struct oc_finding *f,
                                         struct oc_arena *arena)
{
  Omcc__V1__Finding *m = OC_NEW(arena, Omcc__V1__Finding);

  if (!m)
    return NULL;
  omcc__v1__finding__init(m);
  m->id = copy(arena, oc_finding_info(f->id)->id);
  m->severity = f->severity;
  m->subject = copy(arena, f->subject);
  m->flag = copy(arena, f->flag);
  m->file = copy(arena, f->file);
  m->line = f->line;
  m->entry = f->entry;
  return copy_args(f, m, arena) < 0 || arena->failed ? NULL : m;
}

struct oc_finding *oc_finding_from_message(const Omcc__V1__Finding *m,
                                           struct oc_findings *to)
{
  enum oc_finding_id id = OC_FINDING_UNKNOWN_FINDING;
  struct oc_finding_arg *args = OC_NEW_N(to->arena, struct oc_finding_arg, m->n_args);
  bool known = oc_finding_by_name(m->id, &id);

  for (size_t i = 0; args && i < m->n_args; i++)
    args[i] = (struct oc_finding_arg){ m->args[i]->name, m->args[i]->value };
  struct oc_finding *f =
      oc_finding_add_args(to, id, known ? m->subject : m->id, args, args ? m->n_args : 0);
  if (m->severity <= OC_SEV_ERROR)
    f->severity = (enum oc_severity)m->severity;
  f->flag = copy(to->arena, m->flag);
  f->file = copy(to->arena, m->file);
  f->line = m->line;
  f->entry = m->entry;
  if (!f->flag || !f->file) /* the arena's `failed` says it; keep the strings printable */
    f->flag = f->file = "";
  return f;
}

Omcc__V1__Finding **oc_findings_to_messages(const struct oc_findings *fs,
                                            struct oc_arena *arena, size_t *ret_n)
{
  Omcc__V1__Finding **all = OC_NEW_N(arena, Omcc__V1__Finding *, fs->n);

  for (size_t i = 0; all && i < fs->n; i++) {
    all[i] = oc_finding_to_message(&fs->items[i], arena);
    if (!all[i])
      return NULL;
  }
  *ret_n = all ? fs->n : 0;
  return all;
}
