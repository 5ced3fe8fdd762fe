/* Builds a graph of one op from a row of text and compares its outputs. */
#include "row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct bench {
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_graph *g;
  struct oc_op *op;
  const struct row *row;
  int number;
};

static int64_t parse_dim(struct bench *b, struct oc_str word)
{
  int64_t v = 0;

  if (oc_str_is(word, "?"))
    return OC_DIM_UNKNOWN;
  if (oc_str_to_i64(word, &v))
    return v;
  return oc_graph_symbol(b->g, word);
}

/* Splits at commas; returns how many words there are. */
static size_t split(struct oc_str text, struct oc_str *ret, size_t room)
{
  size_t n = 0;

  while (text.len > 0 && n < room) {
    const char *comma = memchr(text.p, ',', text.len);
    size_t len = comma ? (size_t)(comma - text.p) : text.len;

    ret[n++] = (struct oc_str){ text.p, len };
    text.p += len + (comma != NULL);
    text.len -= len + (comma != NULL);
  }
  return n;
}

static enum oc_dtype dtype_of(struct bench *b, const char *word, size_t len)
{
  enum oc_dtype d = OC_DT_UNDEFINED;

  ck_assert_msg(oc_dtype_parse_short((struct oc_str){ word, len }, &d),
                "row %d (%s): dtype in %s", b->number, b->row->type, word);
  return d;
}

static struct oc_shape parse_shape(struct bench *b, struct oc_str inner)
{
  struct oc_str words[32];
  int64_t dims[32];
  size_t n = split(inner, words, 32);

  if (oc_str_is(inner, "*"))
    return oc_shape_unknown();
  for (size_t i = 0; i < n; i++)
    dims[i] = parse_dim(b, words[i]);
  return oc_shape_of(&b->arena, dims, n);
}

static void put_number(uint8_t *p, enum oc_dtype d, struct oc_str word)
{
  char text[64];
  size_t size = oc_dtype_bits(d) / 8;
  int64_t v = 0;

  snprintf(text, sizeof(text), "%.*s", (int)word.len, word.p);
  if (d == OC_DT_F32) {
    float f = strtof(text, NULL);

    memcpy(p, &f, sizeof(f));
    return;
  }
  ck_assert_msg(oc_str_to_i64(word, &v), "no number: %s", text);
  for (size_t i = 0; i < size; i++)
    p[i] = (uint8_t)((uint64_t)v >> (8 * i));
}

static const struct oc_value *parse_value(struct bench *b, enum oc_dtype d,
                                          struct oc_str inner, bool scalar)
{
  struct oc_str words[64];
  size_t n = split(inner, words, 64);
  struct oc_value *v = OC_NEW(&b->arena, struct oc_value);
  uint8_t *data = oc_arena_calloc(&b->arena, n + 1, 8);
  size_t size = oc_dtype_bits(d) / 8;
  int64_t dim = (int64_t)n;

  ck_assert_ptr_nonnull(v);
  ck_assert_ptr_nonnull(data);
  for (size_t i = 0; i < n; i++)
    put_number(data + i * size, d, words[i]);
  v->dtype = d;
  v->shape = scalar ? oc_shape_scalar() : oc_shape_of(&b->arena, &dim, 1);
  v->data = data;
  v->len = n * size;
  return v;
}

/* "f32[1,a]" taken apart: dtype, bracket, and what is inside. */
static char take_apart(struct bench *b, const char *word, enum oc_dtype *ret_dtype,
                       struct oc_str *ret_inner)
{
  size_t at = strcspn(word, "[{(");
  size_t len = strlen(word);

  ck_assert_msg(word[at] && len > at + 1, "row %d (%s): %s", b->number, b->row->type,
                word);
  *ret_dtype = dtype_of(b, word, at);
  *ret_inner = (struct oc_str){ word + at + 1, len - at - 2 };
  return word[at];
}

static struct oc_op *add_input(struct bench *b, const char *word, uint32_t i)
{
  enum oc_dtype d = OC_DT_UNDEFINED;
  struct oc_str inner = { 0 };
  char bracket = take_apart(b, word, &d, &inner);
  const char *name = oc_arena_printf(&b->arena, "in%u", i);

  if (bracket != '[')
    return oc_graph_add_const(b->g, name, parse_value(b, d, inner, bracket == '('));

  struct oc_op *data = oc_graph_add(b->g, name, "Data", 1, 1);

  data->outputs[0].t.dtype = d;
  data->outputs[0].t.shape = parse_shape(b, inner);
  return data;
}

static void set_ints(struct bench *b, const char *name, const char *text)
{
  struct oc_str words[64];
  int64_t v[64];
  size_t n = split(oc_str_of(text), words, 64);

  for (size_t i = 0; i < n; i++)
    ck_assert(oc_str_to_i64(words[i], &v[i]));
  ck_assert_int_eq(oc_attr_set_ints(b->g, b->op, name, v, n), 0);
}

static void set_attr(struct bench *b, char *word)
{
  char *colon = strchr(word, ':');
  char *value = strchr(word, '=');
  enum oc_dtype d = OC_DT_UNDEFINED;

  ck_assert_msg(colon && value == colon + 2, "row %d (%s): %s", b->number, b->row->type,
                word);

  const char *name = oc_arena_strndup(&b->arena, word, (size_t)(colon - word));

  value++;
  switch (colon[1]) {
  case 'i': oc_attr_set_int(b->g, b->op, name, strtoll(value, NULL, 10)); break;
  case 'I': set_ints(b, name, value); break;
  case 'b': oc_attr_set_bool(b->g, b->op, name, value[0] == '1'); break;
  case 'f': oc_attr_set_float(b->g, b->op, name, strtof(value, NULL)); break;
  case 's':
    oc_attr_set_string(b->g, b->op, name, oc_arena_strdup(&b->arena, value));
    break;
  case 'd':
    ck_assert(oc_dtype_parse(oc_str_of(value), &d));
    oc_attr_set_dtype(b->g, b->op, name, d);
    break;
  default: ck_abort_msg("row %d: attribute kind in %s", b->number, word);
  }
}

static size_t words_of(struct bench *b, const char *text, char **ret, size_t room)
{
  char *copy = oc_arena_strdup(&b->arena, text);
  char *save = NULL;
  size_t n = 0;

  for (char *w = strtok_r(copy, " ", &save); w && n < room;
       w = strtok_r(NULL, " ", &save))
    ret[n++] = w;
  return n;
}

static void build(struct bench *b, size_t n_outputs)
{
  char *inputs[32];
  char *attrs[32];
  size_t n = words_of(b, b->row->inputs, inputs, 32);
  size_t n_attrs = words_of(b, b->row->attrs, attrs, 32);
  struct oc_op *from[32] = { NULL };

  for (uint32_t i = 0; i < n; i++)
    from[i] = strcmp(inputs[i], "-") == 0 ? NULL : add_input(b, inputs[i], i);
  b->op = oc_graph_add(b->g, "op", b->row->type, (uint32_t)n, (uint32_t)n_outputs);
  for (uint32_t i = 0; i < n; i++)
    if (from[i])
      oc_op_link(b->op, i, from[i], 0);
  for (size_t i = 0; i < n_attrs; i++)
    set_attr(b, attrs[i]);
}

static void check_shape(struct bench *b, uint32_t k, struct oc_shape got,
                        struct oc_shape want)
{
  ck_assert_msg(got.known_rank == want.known_rank, "row %d (%s) output %u: rank %s",
                b->number, b->row->type, k, got.known_rank ? "known" : "unknown");
  ck_assert_msg(got.rank == want.rank, "row %d (%s) output %u: rank %u", b->number,
                b->row->type, k, got.rank);
  for (uint32_t i = 0; i < want.rank; i++) {
    bool open = want.dims[i] == OC_DIM_UNKNOWN;

    ck_assert_msg(open ? got.dims[i] < 0 : got.dims[i] == want.dims[i],
                  "row %d (%s) output %u: dim %u is %lld, expected %lld", b->number,
                  b->row->type, k, i, (long long)got.dims[i], (long long)want.dims[i]);
  }
}

static void check_output(struct bench *b, uint32_t k, const char *word)
{
  const struct oc_tensor *t = &b->op->outputs[k].t;
  enum oc_dtype d = OC_DT_UNDEFINED;
  struct oc_str inner = { 0 };
  char bracket = take_apart(b, word, &d, &inner);

  ck_assert_msg(t->dtype == d, "row %d (%s) output %u: dtype %s", b->number, b->row->type,
                k, oc_dtype_name(t->dtype));
  if (bracket == '[') {
    check_shape(b, k, t->shape, parse_shape(b, inner));
    return;
  }

  const struct oc_value *want = parse_value(b, d, inner, bracket == '(');

  ck_assert_msg(t->value != NULL, "row %d (%s) output %u: no value", b->number,
                b->row->type, k);
  ck_assert_msg(t->value->len == want->len &&
                    memcmp(t->value->data, want->data, want->len) == 0,
                "row %d (%s) output %u: another value", b->number, b->row->type, k);
}

void check_row(const struct row *row, int number)
{
  struct bench b = { .row = row, .number = number };
  struct oc_error err = { 0 };
  char *outputs[32];

  oc_arena_init(&b.arena, 0);
  oc_findings_init(&b.findings, &b.arena);
  b.g = oc_graph_new(&b.arena, "row");
  ck_assert_ptr_nonnull(b.g);

  size_t n = words_of(&b, row->outputs, outputs, 32);
  bool conflict = strcmp(outputs[0], "!") == 0;

  build(&b, n);
  ck_assert_msg(oc_infer(b.g, NULL, &b.findings, NULL, &err) == 0, "row %d: %s", number,
                err.msg);
  ck_assert_msg(oc_findings_have_errors(&b.findings) == conflict, "row %d (%s): %s",
                number, row->type, conflict ? "no finding" : "a finding");
  for (uint32_t k = 0; k < n && !conflict; k++)
    check_output(&b, k, outputs[k]);
  oc_arena_clear(&b.arena);
}
