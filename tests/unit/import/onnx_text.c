/* Text to ONNX bytes, line by line. */
#include "onnx_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

enum { MOST = 1 << 20, MOST_WORDS = 64, MOST_GRAPHS = 128, LINE = 4096 };

struct builder {
  struct oc_buf opsets, graph;
  long ir;
  struct {
    char name[32];
    struct oc_buf bytes;
  } subs[MOST_GRAPHS];
  int n_subs;
  struct oc_buf *at; /* graph under way */
};

static const struct {
  const char *word;
  int type;
  size_t width;
} types[] = {
  { "f32", 1, 4 },  { "u8", 2, 1 },   { "i8", 3, 1 },    { "i16", 5, 2 },
  { "i32", 6, 4 },  { "i64", 7, 8 },  { "str", 8, 0 },   { "b8", 9, 1 },
  { "f16", 10, 2 }, { "f64", 11, 8 }, { "bf16", 16, 2 }, { "u4", 21, 1 },
};

static int type_at(const char *word)
{
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strcmp(types[i].word, word) == 0)
      return (int)i;
  ck_abort_msg("no type '%s'", word);
  return 0;
}

static void put_number(struct oc_buf *raw, int t, const char *text)
{
  union {
    float f;
    double d;
    long long i;
    unsigned char b[8];
  } u = { .i = 0 };
  if (types[t].type == 1)
    u.f = strtof(text, NULL);
  else if (types[t].type == 11)
    u.d = strtod(text, NULL);
  else
    u.i = strtoll(text, NULL, 0);
  ck_assert_int_eq(oc_buf_append(raw, u.b, types[t].width), 0);
}

static void add(struct oc_buf *to, uint32_t field, struct oc_buf *child)
{
  ck_assert_int_eq(oc_wire_put_message(to, field, child), 0);
  oc_buf_clear(child);
}

/* dims of a TensorProto; gives the number of elements. */
static size_t put_dims(struct oc_buf *t, const char *dims)
{
  size_t n = 1;
  for (const char *p = dims; *p && *p != '-';) {
    char *end = NULL;
    long long d = strtoll(p, &end, 10);
    ck_assert_int_eq(oc_wire_put_i64(t, 1, d), 0);
    n *= (size_t)d;
    p = *end == ',' ? end + 1 : end;
  }
  return n;
}

static void tensor_line(struct builder *b, char **w, int n)
{
  struct oc_buf t, raw;
  int type = type_at(w[2]);
  oc_buf_init(&t, MOST);
  oc_buf_init(&raw, MOST);
  size_t count = put_dims(&t, w[3]);
  oc_wire_put_varint(&t, 2, (uint64_t)types[type].type);
  oc_wire_put_string(&t, 8, w[1]);
  for (int i = 4; i < n; i++)
    put_number(&raw, type, w[i]);
  if (n == 4)
    oc_buf_fill(&raw, 0, count * types[type].width);
  oc_wire_put_bytes(&t, 9, raw.data, raw.len);
  oc_buf_clear(&raw);
  add(b->at, 5, &t);
}

/* The TypeProto `kind` inside a sequence (field 4) or an optional (field 9). */
static void wrap(struct oc_buf *kind, uint32_t field)
{
  struct oc_buf outer, type;
  oc_buf_init(&outer, MOST);
  oc_buf_init(&type, MOST);
  oc_wire_put_message(&outer, 1, kind);
  oc_wire_put_message(&type, field, &outer);
  oc_buf_clear(&outer);
  oc_buf_clear(kind);
  *kind = type;
}

static void info_line(struct builder *b, uint32_t field, const char *name,
                      const char *type, const char *dims)
{
  struct oc_buf shape, tensor, kind, info;
  oc_buf_init(&shape, MOST);
  oc_buf_init(&tensor, MOST);
  oc_buf_init(&kind, MOST);
  oc_buf_init(&info, MOST);
  oc_wire_put_string(&info, 1, name);
  bool optional = type && strncmp(type, "opt:", 4) == 0;
  type += optional ? 4 : 0;
  int sequences = 0;
  for (; type && strncmp(type, "seq:", 4) == 0; type += 4)
    sequences++;
  if (type) {
    oc_wire_put_varint(&tensor, 1, (uint64_t)types[type_at(type)].type);
    bool listed = strcmp(dims, "?") != 0 && strcmp(dims, "-") != 0;
    for (const char *p = dims; listed && *p;) {
      struct oc_buf d;
      char word[32];
      size_t len = strcspn(p, ",");
      (void)snprintf(word, sizeof(word), "%.*s", (int)len, p);
      oc_buf_init(&d, MOST);
      if (strchr("0123456789-", word[0]))
        oc_wire_put_i64(&d, 1, strtoll(word, NULL, 10));
      else if (strcmp(word, "?") != 0)
        oc_wire_put_string(&d, 2, word);
      add(&shape, 1, &d);
      p += len + (p[len] == ',');
    }
    if (strcmp(dims, "?") != 0)
      oc_wire_put_message(&tensor, 2, &shape);
    add(&kind, 1, &tensor);
    while (sequences-- > 0)
      wrap(&kind, 4);
    if (optional)
      wrap(&kind, 9);
    add(&info, 2, &kind);
  }
  oc_buf_clear(&shape);
  oc_buf_clear(&tensor);
  oc_buf_clear(&kind);
  add(b->at, field, &info);
}

static void tensor_attr(struct oc_buf *a, char *text, bool scalar)
{
  char *colon = strchr(text, ':');
  struct oc_buf t, raw;
  ck_assert_ptr_nonnull(colon);
  *colon = '\0';
  int type = type_at(text);
  size_t n = 0;
  oc_buf_init(&t, MOST);
  oc_buf_init(&raw, MOST);
  for (char *p = strtok_r(colon + 1, ";", &text); p; p = strtok_r(NULL, ";", &text), n++)
    put_number(&raw, type, p);
  if (!scalar)
    oc_wire_put_i64(&t, 1, (int64_t)n);
  oc_wire_put_varint(&t, 2, (uint64_t)types[type].type);
  oc_wire_put_bytes(&t, 9, raw.data ? raw.data : (const uint8_t *)"", raw.len);
  oc_buf_clear(&raw);
  add(a, 5, &t);
  oc_wire_put_varint(a, 20, 4);
}

static void graph_attr(struct builder *b, struct oc_buf *a, const char *name)
{
  for (int i = 0; i < b->n_subs; i++)
    if (strcmp(b->subs[i].name, name) == 0) {
      ck_assert_int_eq(oc_wire_put_message(a, 6, &b->subs[i].bytes), 0);
      oc_wire_put_varint(a, 20, 5);
      return;
    }
  ck_abort_msg("no graph '%s'", name);
}

static void list_attr(struct oc_buf *a, char kind, char *text)
{
  char *save = NULL;
  for (char *p = strtok_r(text, ";", &save); p; p = strtok_r(NULL, ";", &save)) {
    if (kind == 'I')
      oc_wire_put_i64(a, 8, strtoll(p, NULL, 10));
    else if (kind == 'F')
      oc_wire_put_f32(a, 7, strtof(p, NULL));
    else
      oc_wire_put_string(a, 9, p);
  }
  oc_wire_put_varint(a, 20, kind == 'I' ? 7 : kind == 'F' ? 6 : 8);
}

static void attr_word(struct builder *b, struct oc_buf *node, char *word)
{
  char *value = strchr(word, '=');
  struct oc_buf a;
  ck_assert_msg(value && value[1], "attribute '%s'", word);
  *value++ = '\0';
  oc_buf_init(&a, MOST);
  oc_wire_put_string(&a, 1, word);
  switch (*value++) {
  case 'i':
    oc_wire_put_i64(&a, 3, strtoll(value, NULL, 10));
    oc_wire_put_varint(&a, 20, 2);
    break;
  case 'f':
    oc_wire_put_f32(&a, 2, strtof(value, NULL));
    oc_wire_put_varint(&a, 20, 1);
    break;
  case 's':
    oc_wire_put_string(&a, 4, value);
    oc_wire_put_varint(&a, 20, 3);
    break;
  case 't': tensor_attr(&a, value, false); break;
  case 'z': tensor_attr(&a, value, true); break;
  case 'g': graph_attr(b, &a, value); break;
  default: list_attr(&a, value[-1], value); break;
  }
  add(node, 5, &a);
}

static void put_names(struct oc_buf *node, uint32_t field, char *list)
{
  char *save = NULL;
  for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
    oc_wire_put_string(node, field, strcmp(p, "_") == 0 ? "" : p);
}

static void node_line(struct builder *b, char **w, int n)
{
  struct oc_buf node;
  int at = 3;
  oc_buf_init(&node, MOST);
  if (strcmp(w[at], "->") != 0)
    put_names(&node, 1, w[at++]);
  ck_assert_str_eq(w[at], "->");
  put_names(&node, 2, w[++at]);
  if (strcmp(w[2], "_") != 0)
    oc_wire_put_string(&node, 3, w[2]);
  char *domain = strstr(w[1], "::");
  oc_wire_put_string(&node, 4, domain ? domain + 2 : w[1]);
  for (at++; at < n; at++)
    attr_word(b, &node, w[at]);
  if (domain) {
    *domain = '\0';
    oc_wire_put_string(&node, 7, w[1]);
  }
  add(b->at, 1, &node);
}

static void opset_line(struct builder *b, char **w, int n)
{
  struct oc_buf o;
  oc_buf_init(&o, MOST);
  if (n == 3)
    oc_wire_put_string(&o, 1, w[1]);
  oc_wire_put_i64(&o, 2, strtoll(w[n - 1], NULL, 10));
  add(&b->opsets, 8, &o);
}

static void text_line(struct builder *b, char *line)
{
  char *w[MOST_WORDS], *save = NULL;
  int n = 0;
  for (char *p = strtok_r(line, " ", &save); p && n < MOST_WORDS;
       p = strtok_r(NULL, " ", &save))
    w[n++] = p;
  if (n == 0)
    return;
  if (strcmp(w[0], "ir") == 0)
    b->ir = strtol(w[1], NULL, 10);
  else if (strcmp(w[0], "opset") == 0)
    opset_line(b, w, n);
  else if (strcmp(w[0], "in") == 0)
    info_line(b, 11, w[1], n == 4 ? w[2] : NULL, n == 4 ? w[3] : "");
  else if (strcmp(w[0], "out") == 0)
    info_line(b, 12, w[1], NULL, "");
  else if (strcmp(w[0], "init") == 0)
    tensor_line(b, w, n);
  else if (strcmp(w[0], "node") == 0)
    node_line(b, w, n);
  else if (strcmp(w[0], "graph") == 0) {
    ck_assert_int_lt(b->n_subs, MOST_GRAPHS);
    (void)snprintf(b->subs[b->n_subs].name, sizeof(b->subs[0].name), "%s", w[1]);
    b->at = &b->subs[b->n_subs++].bytes;
    oc_buf_init(b->at, MOST);
  } else if (strcmp(w[0], "end") == 0)
    b->at = &b->graph;
  else
    ck_abort_msg("line starts with '%s'", w[0]);
}

void onnx_text(const char *text, struct oc_buf *out)
{
  struct builder *b = calloc(1, sizeof(*b));
  char line[LINE];
  ck_assert_ptr_nonnull(b);
  oc_buf_init(&b->opsets, MOST);
  oc_buf_init(&b->graph, MOST);
  b->at = &b->graph;
  b->ir = 8;
  while (*text) {
    size_t len = strcspn(text, "\n");
    ck_assert_uint_lt(len, sizeof(line));
    (void)snprintf(line, sizeof(line), "%.*s", (int)len, text);
    text_line(b, line);
    text += len + (text[len] == '\n');
  }
  oc_wire_put_i64(out, 1, b->ir);
  ck_assert_int_eq(oc_wire_put_message(out, 7, &b->graph), 0);
  oc_buf_append(out, b->opsets.data ? b->opsets.data : (const uint8_t *)"",
                b->opsets.len);
  oc_buf_clear(&b->graph);
  oc_buf_clear(&b->opsets);
  for (int i = 0; i < b->n_subs; i++)
    oc_buf_clear(&b->subs[i].bytes);
  free(b);
}
