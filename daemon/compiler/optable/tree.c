/* YAML documents as small trees, built from libyaml's events with an explicit stack.
 *
 * Only what our tables use is taken: maps with plain keys, lists and scalars. Anchors,
 * aliases and tags are refused, so a file cannot grow when it is read. */
#include "optable_internal.h"

#include <yaml.h>

#define MAX_DEPTH 16

struct builder {
  const char *name;
  struct oc_arena *a;
  struct oc_error *err;
  struct {
    struct oc_tree *node;
    struct oc_tree **tail;
    const char *key; /* pending key of a map */
  } stack[MAX_DEPTH];
  unsigned depth;
  struct oc_tree *root;
};

static uint32_t line_of(const yaml_event_t *ev)
{
  return (uint32_t)ev->start_mark.line + 1;
}

static int refuse(struct builder *b, const yaml_event_t *ev, const char *what)
{
  return oc_error_set(b->err, OC_E_FORMAT, "'%s' line %u: %s", b->name, line_of(ev),
                      what);
}

static int duplicate_key(const struct oc_tree *map, const char *key)
{
  /* maps of ops are long and checked by their readers; the small ones are checked here */
  if (map->n > 32)
    return 0;
  for (const struct oc_tree *c = map->first; c; c = c->next)
    if (oc_streq(c->key, key))
      return 1;
  return 0;
}

static int attach(struct builder *b, const yaml_event_t *ev, struct oc_tree *node)
{
  node->line = line_of(ev);
  if (!b->depth) {
    b->root = node;
    return 0;
  }
  struct oc_tree *parent = b->stack[b->depth - 1].node;
  if (parent->kind == OC_TREE_MAP) {
    const char *key = b->stack[b->depth - 1].key;
    if (!key) {
      if (node->kind != OC_TREE_SCALAR)
        return refuse(b, ev, "a key must be a word");
      if (duplicate_key(parent, node->text))
        return refuse(b, ev, "a key occurs twice");
      b->stack[b->depth - 1].key = node->text;
      return 0;
    }
    node->key = key;
    b->stack[b->depth - 1].key = NULL;
  }
  *b->stack[b->depth - 1].tail = node;
  b->stack[b->depth - 1].tail = &node->next;
  parent->n++;
  return 0;
}

static int push(struct builder *b, const yaml_event_t *ev, enum oc_tree_kind kind)
{
  struct oc_tree *node = OC_NEW(b->a, struct oc_tree);
  if (!node)
    return oc_error_set(b->err, OC_E_NOMEM, "out of memory while reading '%s'", b->name);
  node->kind = kind;
  int rc = attach(b, ev, node);
  if (rc)
    return rc;
  if (b->depth == MAX_DEPTH)
    return refuse(b, ev, "nested too deeply");
  b->stack[b->depth].node = node;
  b->stack[b->depth].tail = &node->first;
  b->stack[b->depth].key = NULL;
  b->depth++;
  return 0;
}

static int scalar(struct builder *b, const yaml_event_t *ev)
{
  struct oc_tree *node = OC_NEW(b->a, struct oc_tree);
  if (node)
    node->text = oc_arena_strndup(b->a, (const char *)ev->data.scalar.value,
                                  ev->data.scalar.length);
  if (!node || !node->text)
    return oc_error_set(b->err, OC_E_NOMEM, "out of memory while reading '%s'", b->name);
  if (ev->data.scalar.anchor || ev->data.scalar.tag)
    return refuse(b, ev, "anchors and tags are not used here");
  return attach(b, ev, node);
}

static int handle(struct builder *b, const yaml_event_t *ev)
{
  switch (ev->type) {
  case YAML_SCALAR_EVENT: return scalar(b, ev);
  case YAML_SEQUENCE_START_EVENT: return push(b, ev, OC_TREE_LIST);
  case YAML_MAPPING_START_EVENT: return push(b, ev, OC_TREE_MAP);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT: b->depth--; return 0;
  case YAML_ALIAS_EVENT: return refuse(b, ev, "aliases are not used here");
  case YAML_DOCUMENT_START_EVENT: return b->root ? refuse(b, ev, "a second document") : 0;
  default: return 0;
  }
}

int oc_tree_parse(const char *name, const void *bytes, size_t len, struct oc_arena *a,
                  struct oc_tree **ret, struct oc_error *err)
{
  struct builder b = { .name = name, .a = a, .err = err };
  yaml_parser_t parser;
  bool done = false;
  int rc = 0;

  if (!yaml_parser_initialize(&parser))
    return oc_error_set(err, OC_E_NOMEM, "out of memory while reading '%s'", name);
  yaml_parser_set_input_string(&parser, bytes, len);
  while (!done && !rc) {
    yaml_event_t ev;
    if (!yaml_parser_parse(&parser, &ev)) {
      rc = oc_error_set(err, OC_E_FORMAT, "'%s' line %zu: %s", name,
                        parser.problem_mark.line + 1,
                        parser.problem ? parser.problem : "not readable");
      break;
    }
    done = ev.type == YAML_STREAM_END_EVENT;
    rc = handle(&b, &ev);
    yaml_event_delete(&ev);
  }
  yaml_parser_delete(&parser);
  if (!rc && !b.root)
    rc = oc_error_set(err, OC_E_FORMAT, "'%s' is empty", name);
  if (!rc)
    *ret = b.root;
  return rc;
}

const struct oc_tree *oc_tree_get(const struct oc_tree *map, const char *key)
{
  if (!map || map->kind != OC_TREE_MAP)
    return NULL;
  for (const struct oc_tree *c = map->first; c; c = c->next)
    if (oc_streq(c->key, key))
      return c;
  return NULL;
}

const char *oc_tree_text(const struct oc_tree *map, const char *key, const char *other)
{
  const struct oc_tree *c = oc_tree_get(map, key);
  return c && c->kind == OC_TREE_SCALAR ? c->text : other;
}
