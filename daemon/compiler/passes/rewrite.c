/* Rewriting edges and handing over names. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "passes/passes_internal.h"

bool pass_count_uses(struct pass_run *r)
{
  struct oc_graph *g = r->graph;

  r->uses = OC_NEW_N(&r->scratch, uint32_t, (size_t)g->n_ops + 1);
  if (!r->uses)
    return false;
  r->n_counted = g->n_ops;
  for (uint32_t i = 0; i < g->n_ops; i++)
    g->ops[i]->id = i;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];

    for (uint32_t k = 0; k < op->n_inputs; k++)
      if (op->inputs[k].from)
        r->uses[op->inputs[k].from->id]++;
    for (uint32_t k = 0; k < op->n_controls; k++)
      r->uses[op->controls[k]->id]++;
  }
  return true;
}

bool pass_feeds_end(const struct pass_run *r, const struct oc_op *op, uint32_t k)
{
  for (uint32_t i = 0; i < r->graph->n_ops; i++) {
    const struct oc_op *end = r->graph->ops[i];

    if (!oc_op_is(end, "NetOutput"))
      continue;
    for (uint32_t j = 0; j < end->n_inputs; j++)
      if (end->inputs[j].from == op && end->inputs[j].from_out == k)
        return true;
  }
  return false;
}

struct oc_op *pass_reader(const struct pass_run *r, const struct oc_op *op, uint32_t k)
{
  for (uint32_t i = 0; i < r->graph->n_ops; i++)
    for (uint32_t j = 0; j < r->graph->ops[i]->n_inputs; j++)
      if (r->graph->ops[i]->inputs[j].from == op &&
          r->graph->ops[i]->inputs[j].from_out == k)
        return r->graph->ops[i];
  return NULL;
}

/* Where an edge leads when skipped ops are passed over. */
static struct pass_edge through(const bool *skip, struct oc_op *op, uint32_t out)
{
  while (op && skip[op->id] && op->n_inputs > 0) {
    out = op->inputs[0].from_out;
    op = op->inputs[0].from;
  }
  return (struct pass_edge){ op, out };
}

/* Who takes over the name of a skipped op: what it handed on, or, when that is an input
 * or a constant, the first op that reads it now. */
static struct oc_op **heirs(struct pass_run *r, const bool *skip)
{
  struct oc_graph *g = r->graph;
  struct oc_op **heir = OC_NEW_N(&r->scratch, struct oc_op *, (size_t)g->n_ops + 1);

  if (!heir)
    return NULL;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_op *op = g->ops[i];

    for (uint32_t k = 0; k < op->n_inputs && !skip[i]; k++) {
      struct oc_op *from = op->inputs[k].from;

      while (from && skip[from->id]) {
        if (!heir[from->id])
          heir[from->id] = op;
        from = from->inputs[0].from;
      }
    }
  }
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct pass_edge e = skip[i] ? through(skip, g->ops[i], 0) : (struct pass_edge){ 0 };

    if (e.op && !oc_op_is(e.op, "Data") && !oc_op_is_const(e.op))
      heir[i] = e.op;
    else if (e.op && (!heir[i] || oc_op_is(heir[i], "NetOutput")))
      heir[i] = e.op;
  }
  return heir;
}

/* Hands the names of skipped ops to their heirs, all of one heir at once. */
static void hand_over(struct pass_run *r, const bool *skip, struct oc_op **heir)
{
  struct oc_graph *g = r->graph;
  size_t n = (size_t)g->n_ops + 1;
  uint32_t *first = OC_NEW_N(&r->scratch, uint32_t, n); /* per heir: index + 1 of an op */
  uint32_t *next = OC_NEW_N(&r->scratch, uint32_t, n);
  struct oc_op **list = OC_NEW_N(&r->scratch, struct oc_op *, n);

  if (!first || !next || !list)
    return;
  for (uint32_t i = g->n_ops; i > 0; i--) {
    if (!skip[i - 1] || !heir[i - 1])
      continue;
    next[i - 1] = first[heir[i - 1]->id];
    first[heir[i - 1]->id] = i;
  }
  for (uint32_t h = 0; h < g->n_ops; h++) {
    size_t k = 0;

    for (uint32_t i = first[h]; i > 0; i = next[i - 1])
      list[k++] = g->ops[i - 1];
    if (k > 0)
      pass_swallow_all(r, g->ops[h], list, k, false);
  }
}

void pass_bypass(struct pass_run *r, const bool *skip)
{
  struct oc_graph *g = r->graph;
  struct oc_op **heir = heirs(r, skip);

  if (!heir)
    return;
  hand_over(r, skip, heir);
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_op *op = g->ops[i];

    if (skip[i]) {
      op->mark = 1;
      pass_note(r, op, "removed, its result is that of '%s'",
                heir[i] ? through(skip, op, 0).op->name : "?");
      continue;
    }
    for (uint32_t k = 0; k < op->n_inputs; k++) {
      struct pass_edge e = through(skip, op->inputs[k].from, op->inputs[k].from_out);

      op->inputs[k].from = e.op;
      op->inputs[k].from_out = e.out;
    }
    for (uint32_t k = 0; k < op->n_controls; k++)
      op->controls[k] = through(skip, op->controls[k], 0).op;
  }
  oc_graph_sweep(g);
}

/* A list of names under way, each once. */
struct names {
  const char **list;
  uint32_t n;
  struct oc_map seen;
};

static void add_name(struct names *names, const char *name)
{
  if (oc_map_has(&names->seen, oc_str_of(name)) ||
      oc_map_puts(&names->seen, name, names) < 0)
    return;
  names->list[names->n++] = name;
}

/* An op's own list when it has one, else its name. */
static void add_names(struct names *names, const struct oc_op *op)
{
  if (op->n_origin_names == 0)
    add_name(names, op->name);
  for (uint32_t i = 0; i < op->n_origin_names; i++)
    add_name(names, op->origin_names[i]);
}

static void inherit_entry(struct oc_op *into, uint32_t entry)
{
  if (!entry || entry == into->keep_entry)
    return;
  if (!into->keep_entry || entry < into->keep_entry) {
    into->keep_also = into->keep_entry;
    into->keep_entry = entry;
  } else if (!into->keep_also || entry < into->keep_also) {
    into->keep_also = entry;
  }
}

static void inherit_keep(struct oc_op *into, const struct oc_op *from)
{
  if (!from->keep)
    return;
  inherit_entry(into, from->keep_entry);
  inherit_entry(into, from->keep_also);
  into->keep = true;
}

void pass_swallow_all(struct pass_run *r, struct oc_op *into, struct oc_op *const *from,
                      size_t n, bool fuse)
{
  struct names names = { 0 };
  size_t room = into->n_origin_names + 1;

  for (size_t i = 0; i < n; i++)
    room += from[i]->n_origin_names + 1;
  names.list = OC_NEW_N(r->arena, const char *, room);
  if (!names.list)
    return;
  add_names(&names, into);
  for (size_t i = 0; i < n; i++) {
    add_names(&names, from[i]);
    if (fuse)
      inherit_keep(into, from[i]);
  }
  into->origin_names = names.list;
  into->n_origin_names = names.n;
  oc_map_clear(&names.seen);
}

void pass_swallow(struct pass_run *r, struct oc_op *into, const struct oc_op *from,
                  bool fuse)
{
  struct oc_op *one = (struct oc_op *)from;

  pass_swallow_all(r, into, &one, 1, fuse);
}

static bool may_drop(const struct oc_op *op)
{
  return !oc_op_is(op, "Data") && op->n_controls == 0 && op->n_subgraphs == 0;
}

void pass_drop_inputs(struct pass_run *r, struct oc_op *op, uint32_t first,
                      struct oc_op *into)
{
  size_t room = 64;
  size_t n = 1;
  struct oc_op **todo = OC_NEW_N(&r->scratch, struct oc_op *, room);

  if (!todo)
    return;
  todo[0] = op;
  /* The list keeps what was gone through: behind `op` stand the ops that go. */
  for (size_t at = 0; at < n; at++) {
    for (uint32_t k = at == 0 ? first : 0; k < todo[at]->n_inputs; k++) {
      struct oc_op *from = todo[at]->inputs[k].from;

      todo[at]->inputs[k].from = NULL;
      if (!from || from->id >= r->n_counted || --r->uses[from->id] > 0 ||
          !may_drop(from) || from->mark)
        continue;
      from->mark = 1;
      if (n == room) {
        struct oc_op **grown =
            oc_arena_grow(&r->scratch, todo, n, room * 2, sizeof(*grown));

        if (!grown)
          return;
        todo = grown;
        room *= 2;
      }
      todo[n++] = from;
    }
  }
  if (n > 1)
    pass_swallow_all(r, into, &todo[1], n - 1, false);
}

void pass_note(struct pass_run *r, const struct oc_op *op, const char *fmt, ...)
{
  char text[240];
  va_list ap;

  r->n_changes++;
  if (!r->log)
    return;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  if (r->log->n == r->log->room) {
    size_t room = r->log->room ? r->log->room * 2 : 16;
    struct oc_pass_note *grown =
        oc_arena_grow(r->arena, r->log->items, r->log->n, room, sizeof(*grown));

    if (!grown)
      return;
    r->log->items = grown;
    r->log->room = room;
  }

  const char *what = oc_arena_strdup(r->arena, text);

  r->log->items[r->log->n++] =
      (struct oc_pass_note){ r->pass, op->name, what ? what : "" };
}
