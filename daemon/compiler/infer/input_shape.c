/* --input_shape: what the user says about the shapes of graph inputs.
 *
 * The value is a list name:d1,d2;name2:... where the last colon of an item separates the
 * name, since names may hold colons themselves. A dim is a number, -1 or lo~hi; a range
 * is a dynamic dim with bounds. Names are looked up among the Data ops. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "infer/infer_internal.h"

/* A value longer than this is no shape list. */
static const size_t MOST_TEXT = 1u << 20;
/* The attribute's name is shared with the importers. */
static const char RANGE_ATTR[] = "_shape_range";
static const char FLAG[] = "input_shape";

struct item {
  struct oc_str name;
  int64_t dims[OC_MAX_RANK];
  int64_t range[2 * OC_MAX_RANK];
  uint32_t rank;
  bool ranged;
};

static const char *text_of(struct oc_arena *a, struct oc_str s)
{
  const char *t = oc_arena_strndup(a, s.p, s.len);

  return t ? t : "";
}

static bool parse_dim(struct oc_str word, struct item *it)
{
  const char *tilde = memchr(word.p, '~', word.len);
  int64_t lo = 0;
  int64_t hi = 0;
  uint32_t i = it->rank;

  word = oc_str_trim(word);
  if (i == OC_MAX_RANK || word.len == 0)
    return false;
  if (tilde) {
    struct oc_str first = { word.p, (size_t)(tilde - word.p) };
    struct oc_str second = { tilde + 1, word.len - first.len - 1 };

    if (!oc_str_to_i64(oc_str_trim(first), &lo) ||
        !oc_str_to_i64(oc_str_trim(second), &hi) || lo < 0 || (hi != -1 && hi < lo))
      return false;
    it->ranged = it->ranged || lo != hi;
    it->dims[i] = lo == hi ? lo : OC_DIM_UNKNOWN;
  } else {
    if (!oc_str_to_i64(word, &lo) || lo < -1)
      return false;
    hi = lo;
    it->dims[i] = lo;
  }
  it->range[2 * i] = lo < 0 ? 0 : lo;
  it->range[2 * i + 1] = hi;
  it->rank++;
  return true;
}

static bool parse_item(struct oc_str text, struct item *it, struct oc_arena *a,
                       struct oc_findings *fs)
{
  const char *colon = memrchr(text.p, ':', text.len);

  memset(it, 0, sizeof(*it));
  if (!colon || colon == text.p) {
    oc_finding_add(fs, OC_FINDING_INPUT_SHAPE_SYNTAX, text_of(a, text), "why",
                   "an item is <name>:<dims>", NULL)
        ->flag = FLAG;
    return false;
  }
  it->name = oc_str_trim((struct oc_str){ text.p, (size_t)(colon - text.p) });

  struct oc_str rest = { colon + 1, text.len - (size_t)(colon - text.p) - 1 };

  rest = oc_str_trim(rest);
  while (rest.len > 0) {
    const char *comma = memchr(rest.p, ',', rest.len);
    struct oc_str word = { rest.p, comma ? (size_t)(comma - rest.p) : rest.len };

    if (!parse_dim(word, it)) {
      oc_finding_add(fs, OC_FINDING_INPUT_SHAPE_SYNTAX, text_of(a, text), "why",
                     oc_arena_printf(a, "'%s' is no dim", text_of(a, word)), NULL)
          ->flag = FLAG;
      return false;
    }
    rest.p += word.len + (comma != NULL);
    rest.len -= word.len + (comma != NULL);
    if (comma && rest.len == 0)
      rest = (struct oc_str){ ",", 1 }; /* a comma at the end: an empty dim follows */
  }
  return true;
}

static bool is_input(const struct oc_op *op)
{
  return oc_op_is(op, "Data") && op->n_outputs > 0;
}

static void report_name(const struct oc_graph *g, const struct item *it,
                        struct oc_findings *fs)
{
  struct oc_buf list;
  const char **names = OC_NEW_N(g->arena, const char *, g->n_ops + 1);
  size_t n = 0;

  oc_buf_init(&list, MOST_TEXT);
  for (uint32_t i = 0; i < g->n_ops && names; i++) {
    if (!is_input(g->ops[i]))
      continue;
    (void)oc_buf_printf(&list, "%s%s", n ? ", " : "", g->ops[i]->name);
    names[n++] = g->ops[i]->name;
  }

  const char *name = text_of(g->arena, it->name);
  const char *nearest = names ? oc_str_nearest(name, names, n) : NULL;

  if (!nearest)
    nearest = n > 0 ? names[0] : "";
  oc_finding_add(fs, OC_FINDING_INPUT_SHAPE_NAME, name, "inputs", oc_buf_str(&list),
                 "nearest", nearest, NULL)
      ->flag = FLAG;
  oc_buf_clear(&list);
}

static void shape_text(const struct oc_graph *g, struct oc_shape s, struct oc_buf *out)
{
  for (uint32_t i = 0; i < s.rank; i++) {
    const char *symbol = oc_graph_symbol_name(g, s.dims[i]);

    (void)oc_buf_puts(out, i ? "," : "");
    if (s.dims[i] >= 0)
      (void)oc_buf_printf(out, "%" PRId64, s.dims[i]);
    else
      (void)oc_buf_printf(out, "<%s>", symbol ? symbol : "n");
  }
}

static void report_rank(const struct oc_graph *g, const struct oc_op *op,
                        const struct item *it, struct oc_findings *fs)
{
  struct oc_buf shape;

  oc_buf_init(&shape, MOST_TEXT);
  shape_text(g, op->outputs[0].t.shape, &shape);
  oc_finding_add(fs, OC_FINDING_INPUT_SHAPE_RANK, op->name, "given",
                 oc_arena_printf(g->arena, "%u", it->rank), "declared",
                 oc_arena_printf(g->arena, "%u", op->outputs[0].t.shape.rank), "shape",
                 oc_buf_str(&shape), NULL)
      ->flag = FLAG;
  oc_buf_clear(&shape);
}

static void report_size(const struct oc_graph *g, const struct oc_op *op, uint32_t dim,
                        int64_t declared, int64_t given, struct oc_findings *fs)
{
  oc_finding_add(fs, OC_FINDING_INPUT_SHAPE_DIFFERS, op->name, "dim",
                 oc_arena_printf(g->arena, "%u", dim), "declared",
                 oc_arena_printf(g->arena, "%" PRId64, declared), "given",
                 oc_arena_printf(g->arena, "%" PRId64, given), NULL)
      ->flag = FLAG;
}

/* A symbol of the model that gets a number here gets it everywhere. */
static void bind_symbol(struct oc_graph *g, int64_t symbol, int64_t value)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_op *op = g->ops[i];
    struct oc_shape s = is_input(op) ? op->outputs[0].t.shape : oc_shape_unknown();
    int64_t dims[OC_MAX_RANK];
    bool hit = false;

    for (uint32_t d = 0; d < s.rank && s.rank <= OC_MAX_RANK; d++) {
      dims[d] = s.dims[d] == symbol ? value : s.dims[d];
      hit |= s.dims[d] == symbol;
    }
    if (hit)
      op->outputs[0].t.shape = oc_shape_of(g->arena, dims, s.rank);
  }
}

static void apply(struct oc_graph *g, struct oc_op *op, struct item *it,
                  struct oc_findings *fs)
{
  struct oc_shape was = op->outputs[0].t.shape;

  if (was.known_rank && was.rank != it->rank) {
    report_rank(g, op, it, fs);
    return;
  }
  for (uint32_t i = 0; i < it->rank; i++) {
    if (was.known_rank && was.dims[i] >= 0 && it->dims[i] >= 0 &&
        was.dims[i] != it->dims[i])
      report_size(g, op, i, was.dims[i], it->dims[i], fs);
    /* -1 for a dim that the model names keeps the name. */
    if (it->dims[i] == OC_DIM_UNKNOWN && was.known_rank && was.dims[i] < 0)
      it->dims[i] = was.dims[i];
  }
  op->outputs[0].t.shape = oc_shape_of(g->arena, it->dims, it->rank);
  for (uint32_t i = 0; i < it->rank && was.known_rank; i++)
    if (was.dims[i] < OC_DIM_UNKNOWN && it->dims[i] >= 0 && !it->ranged)
      bind_symbol(g, was.dims[i], it->dims[i]);
  if (it->ranged)
    (void)oc_attr_set_ints(g, op, RANGE_ATTR, it->range, (size_t)it->rank * 2);
}

static struct oc_op *find_input(const struct oc_graph *g, struct oc_str name)
{
  for (uint32_t i = 0; i < g->n_ops; i++)
    if (is_input(g->ops[i]) && oc_str_is(name, g->ops[i]->name))
      return g->ops[i];
  return NULL;
}

int oc_infer_apply_input_shape(struct oc_graph *g, const char *text,
                               struct oc_findings *fs, struct oc_error *err)
{
  struct oc_str rest = oc_str_trim(oc_str_of(text));

  if (rest.len > MOST_TEXT)
    return oc_error_set(err, OC_E_LIMIT, "--input_shape has %zu bytes", rest.len);
  while (rest.len > 0) {
    const char *semi = memchr(rest.p, ';', rest.len);
    struct oc_str one = { rest.p, semi ? (size_t)(semi - rest.p) : rest.len };
    struct item it;

    rest.p += one.len + (semi != NULL);
    rest.len -= one.len + (semi != NULL);
    one = oc_str_trim(one);
    if (one.len == 0 || !parse_item(one, &it, g->arena, fs))
      continue;

    struct oc_op *op = find_input(g, it.name);

    if (op)
      apply(g, op, &it, fs);
    else
      report_name(g, &it, fs);
  }
  return g->arena->failed ? oc_error_set(err, OC_E_NOMEM, "out of memory") : 0;
}

bool infer_shape_given(const char *text, const char *input)
{
  struct oc_str rest = oc_str_trim(oc_str_of(text));

  while (rest.len > 0) {
    const char *semi = memchr(rest.p, ';', rest.len);
    struct oc_str one = { rest.p, semi ? (size_t)(semi - rest.p) : rest.len };
    const char *colon = memrchr(one.p, ':', one.len);

    rest.p += one.len + (semi != NULL);
    rest.len -= one.len + (semi != NULL);
    if (!colon)
      continue;
    one.len = (size_t)(colon - one.p);
    if (oc_str_is(oc_str_trim(one), input))
      return true;
  }
  return false;
}

const char *infer_input_hint(struct oc_graph *g)
{
  struct oc_buf text;
  bool dynamic = false;
  char *copy = NULL;

  oc_buf_init(&text, MOST_TEXT);
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];

    if (!is_input(op))
      continue;

    struct oc_shape s = op->outputs[0].t.shape;

    dynamic |= !oc_shape_is_static(s);
    (void)oc_buf_printf(&text, "%s%s:", text.len ? ";" : "", op->name);
    if (s.known_rank)
      shape_text(g, s, &text);
    else
      (void)oc_buf_puts(&text, "<dims>");
  }
  if (dynamic && !text.failed)
    copy = oc_arena_strdup(g->arena, oc_buf_str(&text));
  oc_buf_clear(&text);
  return copy;
}
