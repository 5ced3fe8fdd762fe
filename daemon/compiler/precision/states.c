/* What became of every list entry, and a finding for each that did nothing.
 *
 * An entry is used when some op's result is due to it. Otherwise it names nothing
 * (unmatched), names ops that another entry or list decides (shadowed), names ops that no
 * list can change (no_effect), or would change nothing (redundant). */
#include "precision_internal.h"

struct tally {
  uint32_t ops;     /* ops that the entry applies to now */
  uint32_t changed; /* results due to it, followers included */
  uint32_t own;     /* of those, ops it names */
  uint32_t fixed;   /* ops that are never judged */
  uint32_t custom;  /* ops that customize_dtypes decides */
  uint32_t promoted;
  uint32_t kept;   /* customize entries: ops that keep_dtype names as well */
  uint32_t hidden; /* type entries: ops whose name entry wins */
};

static void tally_keep(const struct oc_op_info *n, struct tally *t)
{
  const struct oc_op *op = n->op;

  if (!op->keep || !op->keep_entry)
    return;
  t = &t[op->keep_entry - 1];
  t->ops++;
  t->fixed += n->fixed || (op->engine == OC_ENGINE_GRAPH);
  t->custom += n->custom != NULL;
  t->promoted += n->promoted;
  t->own += n->cite.flag == 'k' && n->cite.entry == op->keep_entry;
}

static void tally_custom(const struct oc_run *r, const struct oc_op_info *n,
                         struct tally *t)
{
  if (n->custom_entry) {
    t[n->custom_entry - 1].ops++;
    t[n->custom_entry - 1].kept += n->op->keep;
    t[n->custom_entry - 1].own += n->cite.flag == 'c' && n->cite.entry == n->custom_entry;
  }
  if (n->custom_type && n->custom_type != n->custom)
    t[n->custom_type - r->o->custom->entries].hidden++;
}

static void tally_mix(const struct oc_run *r, const struct oc_op_info *n, struct tally *t)
{
  if (!oc_mix_find(r->o->mix, n->op->type))
    return;
  for (uint32_t i = 0; i < r->o->mix->n; i++)
    if (oc_streq(r->o->mix->entries[i].type, n->op->type)) {
      t[i].ops++;
      t[i].own += n->cite.flag == 'm' && n->cite.entry == i + 1;
    }
}

struct tallies {
  struct tally *keep, *custom, *mix;
};

static bool count_all(struct oc_run *r, struct tallies *t)
{
  const struct oc_precision_options *o = r->o;

  t->keep = OC_NEW_N(r->a, struct tally, o->keep ? o->keep->n : 0);
  t->custom = OC_NEW_N(r->a, struct tally, o->custom ? o->custom->n : 0);
  t->mix = OC_NEW_N(r->a, struct tally, o->mix ? o->mix->n : 0);
  if (!t->keep || !t->custom || !t->mix)
    return false;
  for (uint32_t i = 0; i < r->n_infos; i++) {
    const struct oc_op_info *n = &r->infos[i];
    if (o->keep)
      tally_keep(n, t->keep);
    if (o->custom)
      tally_custom(r, n, t->custom);
    if (o->mix)
      tally_mix(r, n, t->mix);
    struct tally *list = n->cite.flag == 'k'   ? t->keep
                         : n->cite.flag == 'c' ? t->custom
                         : n->cite.flag == 'm' ? t->mix
                                               : NULL;
    if (list && n->cite.entry)
      list[n->cite.entry - 1].changed++;
  }
  return true;
}

static struct oc_entry_result *add(struct oc_run *r, const char *flag, uint32_t entry,
                                   struct oc_str text)
{
  struct oc_entry_result *e = &r->result->entries[r->result->n_entries++];

  e->flag = flag;
  e->entry = entry;
  e->text = oc_arena_strndup(r->a, text.p, text.len);
  if (!e->text) {
    r->failed = true;
    e->text = "";
  }
  return e;
}

static struct oc_finding *entry_finding(struct oc_run *r, enum oc_finding_id id,
                                        const struct oc_entry_result *e)
{
  struct oc_finding *f = oc_tell(r, id, e->text);

  oc_tell_arg(r, f, "ops", oc_arena_printf(r->a, "%u", e->ops));
  if (f) {
    f->flag = e->flag;
    f->entry = e->entry;
  }
  return f;
}

/* ---- keep_dtype */

static void keep_finding(struct oc_run *r, const struct oc_entry_result *e,
                         const struct tally *t)
{
  struct oc_finding *f;

  if (e->state == OC_ENTRY_SHADOWED && t->ops) {
    entry_finding(r, OC_FINDING_KEEP_BY_CUSTOMIZE, e);
  } else if (e->state == OC_ENTRY_SHADOWED) {
    oc_tell_arg(r, entry_finding(r, OC_FINDING_KEEP_SHADOWED, e), "why",
                "earlier lines name the same ops");
  } else if (e->state == OC_ENTRY_REDUNDANT) {
    entry_finding(r, OC_FINDING_KEEP_REDUNDANT, e);
  } else if (e->state == OC_ENTRY_NO_EFFECT && t->fixed == t->ops) {
    f = entry_finding(r, OC_FINDING_KEEP_NO_EFFECT, e);
    oc_tell_arg(r, f, "why",
                "no mode changes the dtype of Data, constants and ops without a kernel");
    oc_tell_arg(r, f, "fix", "list the ops that read them instead");
  }
}

/* `covered`: a type line names every op that this name line names. */
static enum oc_entry_state keep_state(const struct oc_run *r, uint32_t hits, bool covered,
                                      const struct tally *t)
{
  if (!hits)
    return OC_ENTRY_UNMATCHED;
  if (r->mode == OC_MODE_ORIGIN)
    return OC_ENTRY_VOID;
  if (covered)
    return OC_ENTRY_REDUNDANT;
  if (t->changed)
    return OC_ENTRY_USED;
  if (!t->ops || t->custom == t->ops)
    return OC_ENTRY_SHADOWED;
  if (t->fixed + t->promoted >= t->ops)
    return OC_ENTRY_NO_EFFECT;
  return OC_ENTRY_REDUNDANT;
}

static void keep_entries(struct oc_run *r, const struct tally *tallies)
{
  const struct oc_keep_list *l = r->o->keep;
  const struct oc_keep_marks *m = r->o->marks;
  bool any = false;

  for (uint32_t i = 0; l && i < l->n; i++) {
    const struct oc_keep_entry *k = &l->entries[i];
    if (k->comment && !(m && m->is_name[i]))
      continue;
    struct oc_entry_result *e = add(r, "keep_dtype", i + 1, k->text);
    e->ops = m ? m->hits[i] : tallies[i].ops;
    e->changed = tallies[i].own;
    e->state = keep_state(r, e->ops, m && e->ops && m->covered[i] == e->ops, &tallies[i]);
    any = any || e->state == OC_ENTRY_VOID;
    keep_finding(r, e, &tallies[i]);
  }
  if (!any)
    return;
  struct oc_finding *f = oc_tell(r, OC_FINDING_KEEP_VOID, r->o->mode.spelling);
  if (f)
    f->flag = "keep_dtype";
}

/* Mode origin: the page says that the list is void, the marks still act. */
static void void_differences(struct oc_run *r)
{
  for (uint32_t i = 0; i < r->n_infos; i++) {
    const struct oc_op_info *n = &r->infos[i];
    if (n->cite.flag != 'k' || n->fixed)
      continue;
    struct oc_world w = { .without = n->cite };
    struct oc_verdict v;
    oc_judge(r, &r->infos[i], &w, false, &v);
    uint32_t t = 0;
    while (t + 1 < n->n_tensors &&
           oc_verdict_dtype(n, &v, t) == oc_verdict_dtype(n, &n->verdict, t))
      t++;
    struct oc_finding *f = oc_tell(r, OC_FINDING_KEEP_VOID_DIFFERS, n->op->name);
    const char *name = oc_tensor_at(n->op, t)->name;
    oc_tell_arg(r, f, "mode", r->o->mode.spelling);
    oc_tell_arg(r, f, "tensor", name ? name : "a tensor");
    oc_tell_arg(r, f, "with", oc_dtype_name(oc_verdict_dtype(n, &n->verdict, t)));
    oc_tell_arg(r, f, "without", oc_dtype_name(oc_verdict_dtype(n, &v, t)));
    struct oc_str text = r->o->keep->entries[n->cite.entry - 1].text;
    oc_tell_arg(r, f, "entry", oc_arena_strndup(r->a, text.p, text.len));
    if (f) {
      f->flag = "keep_dtype";
      f->entry = n->cite.entry;
    }
  }
}

/* ---- customize_dtypes */

/* The line as it is, with another name. */
static const char *with_name(struct oc_run *r, const struct oc_custom_entry *c,
                             const char *name)
{
  size_t before = (size_t)(c->name.p - c->text.p);
  size_t after = c->text.len - before - c->name.len;

  return oc_arena_printf(r->a, "%.*s%s%.*s", (int)before, c->text.p, name, (int)after,
                         c->name.p + c->name.len);
}

static void custom_entries(struct oc_run *r, const struct tally *tallies,
                           struct oc_mark_index *ix)
{
  const struct oc_custom_list *l = r->o->custom;

  for (uint32_t i = 0; l && i < l->n; i++) {
    const struct oc_custom_entry *c = &l->entries[i];
    const struct tally *t = &tallies[i];
    if (c->comment && !t->ops)
      continue;
    struct oc_entry_result *e = add(r, "customize_dtypes", i + 1, c->text);
    const char *name = oc_arena_strndup(r->a, c->name.p, c->name.len);
    e->ops = t->ops;
    e->changed = t->own;
    e->state = c->ignored || (!t->ops && t->hidden) ? OC_ENTRY_SHADOWED
               : t->changed || t->kept              ? OC_ENTRY_USED
               : t->ops                             ? OC_ENTRY_REDUNDANT
                                                    : OC_ENTRY_UNMATCHED;
    if (e->state == OC_ENTRY_REDUNDANT)
      entry_finding(r, OC_FINDING_CUSTOMIZE_REDUNDANT, e);
    if (e->state == OC_ENTRY_SHADOWED && !c->ignored) /* the other kind has a finding */
      entry_finding(r, OC_FINDING_CUSTOMIZE_SHADOWED, e);
    if (e->state != OC_ENTRY_UNMATCHED || !name)
      continue;
    const char *near = ix ? oc_mark_nearest(ix, name, c->by_type) : NULL;
    const char *covered = ix && !near && !c->by_type ? oc_mark_covered(ix, name) : NULL;
    struct oc_finding *f = entry_finding(r,
                                         near      ? OC_FINDING_CUSTOMIZE_UNMATCHED_NEAR
                                         : covered ? OC_FINDING_CUSTOMIZE_FUSED_NAME
                                                   : OC_FINDING_CUSTOMIZE_UNMATCHED,
                                         e);
    if (covered)
      oc_tell_arg(r, f, "covered", covered);
    if (near)
      oc_tell_arg(r, f, "near", with_name(r, c, near));
  }
}

/* ---- modify_mixlist */

static const char *mix_idle(const struct oc_run *r, const struct oc_mix_entry *e,
                            const char **ret_fix)
{
  const struct oc_table_op *row = oc_table_find(r->o->table, e->type);
  static const enum oc_policy policies[] = { OC_POLICY_BLACK, OC_POLICY_WHITE,
                                             OC_POLICY_GRAY };

  *ret_fix = "remove the entry";
  if (!e->remove && e->list == OC_MIX_GRAY) {
    *ret_fix = "to make a type gray, use to-remove of the list it is on";
    return "gray-list to-add alone changes nothing";
  }
  if (row && e->remove && row->policy != policies[e->list])
    return "the type is not on that list";
  if (row && !e->remove && row->policy == policies[e->list])
    return "the type is on that list already";
  return NULL;
}

static void mix_entry_finding(struct oc_run *r, const struct oc_mix_entry *m,
                              struct oc_entry_result *e, struct oc_mark_index *ix)
{
  const char *fix, *idle = mix_idle(r, m, &fix);
  struct oc_finding *f;

  if (!oc_table_find(r->o->table, m->type)) {
    const char *near = ix ? oc_mark_nearest(ix, m->type, true) : NULL;
    f = entry_finding(
        r, near ? OC_FINDING_MIXLIST_UNKNOWN_NEAR : OC_FINDING_MIXLIST_UNKNOWN_TYPE, e);
    oc_tell_arg(r, f, "soc", r->o->soc ? r->o->soc : "the chip");
    if (near)
      oc_tell_arg(r, f, "near", near);
    e->state = OC_ENTRY_UNMATCHED;
  } else if (idle && e->state != OC_ENTRY_USED) {
    f = entry_finding(r, OC_FINDING_MIXLIST_NO_EFFECT, e);
    oc_tell_arg(r, f, "why", idle);
    oc_tell_arg(r, f, "fix", fix);
    e->state = OC_ENTRY_NO_EFFECT;
  } else if (!e->ops) {
    entry_finding(r, OC_FINDING_MIXLIST_UNMATCHED, e);
  }
}

static void mix_entries(struct oc_run *r, const struct tally *tallies,
                        struct oc_mark_index *ix)
{
  const struct oc_mix_list *l = r->o->mix;

  for (uint32_t i = 0; l && i < l->n; i++) {
    const struct oc_mix_entry *m = &l->entries[i];
    struct oc_entry_result *e = add(r, "modify_mixlist", i + 1, oc_str_of(m->type));
    e->ops = tallies[i].ops;
    e->changed = tallies[i].own;
    e->state = tallies[i].changed ? OC_ENTRY_USED
               : tallies[i].ops   ? OC_ENTRY_REDUNDANT
                                  : OC_ENTRY_UNMATCHED;
    mix_entry_finding(r, m, e, ix);
  }
}

void oc_states(struct oc_run *r)
{
  const struct oc_precision_options *o = r->o;
  struct tallies t;
  size_t n = (o->keep ? o->keep->n : 0) + (o->custom ? o->custom->n : 0) +
             (o->mix ? o->mix->n : 0);

  r->result->entries = OC_NEW_N(r->a, struct oc_entry_result, n);
  if (!r->result->entries || !count_all(r, &t)) {
    r->failed = true;
    return;
  }
  struct oc_mark_index *ix =
      o->custom || o->mix ? oc_mark_index_new(r->a, r->graphs, r->n_graphs) : NULL;
  keep_entries(r, t.keep);
  if (r->mode == OC_MODE_ORIGIN && o->keep)
    void_differences(r);
  custom_entries(r, t.custom, ix);
  mix_entries(r, t.mix, ix);
  oc_mark_index_free(ix);
}
