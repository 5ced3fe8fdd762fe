/* Einsum: the equation's letters name dims; "..." stands for the dims that broadcast. */
#include <string.h>

#include "infer/infer_internal.h"

struct einsum {
  int64_t letters[128]; /* dim by character; 0 entries of `seen` are unset */
  bool seen[128];
  uint32_t count[128];       /* operands that use the letter */
  int64_t rest[OC_MAX_RANK]; /* broadcast dims, aligned at the end */
  uint32_t n_rest;
};

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static uint32_t n_letters(struct oc_str term)
{
  uint32_t n = 0;

  for (size_t i = 0; i < term.len; i++)
    n += is_letter(term.p[i]);
  return n;
}

static void add_rest(struct infer *in, struct oc_op *op, struct einsum *e,
                     const int64_t *dims, uint32_t n)
{
  /* Align at the end: shift what is there when the new part is longer. */
  if (n > e->n_rest) {
    uint32_t more = n - e->n_rest;

    memmove(&e->rest[more], e->rest, e->n_rest * sizeof(*e->rest));
    for (uint32_t i = 0; i < more; i++)
      e->rest[i] = 1;
    e->n_rest = n;
  }
  for (uint32_t i = 0; i < n; i++) {
    int64_t *at = &e->rest[e->n_rest - n + i];

    *at = infer_broadcast_dim(in, op, *at, dims[i]);
  }
}

static bool add_term(struct infer *in, struct oc_op *op, struct einsum *e,
                     struct oc_str term, uint32_t input)
{
  int64_t dims[OC_MAX_RANK];
  uint32_t rank = 0;
  uint32_t at = 0;
  uint32_t letters = n_letters(term);
  bool dots = false;

  if (!infer_dims(in, op, input, dims, &rank) || letters > rank)
    return false;
  for (size_t i = 0; i < term.len; i++) {
    char c = term.p[i];

    if (c == '.' && !dots) {
      dots = true;
      add_rest(in, op, e, &dims[at], rank - letters);
      at += rank - letters;
    }
    if (!is_letter(c))
      continue;
    if (at >= rank)
      return false;
    if (e->seen[(int)c])
      e->letters[(int)c] = infer_broadcast_dim(in, op, e->letters[(int)c], dims[at]);
    else
      e->letters[(int)c] = dims[at];
    e->seen[(int)c] = true;
    e->count[(int)c]++;
    at++;
  }
  return true;
}

static uint32_t put(const struct einsum *e, struct oc_str out, int64_t *dims)
{
  uint32_t n = 0;
  bool dots = false;

  for (size_t i = 0; i < out.len && n < OC_MAX_RANK; i++) {
    if (out.p[i] == '.' && !dots) {
      dots = true;
      for (uint32_t k = 0; k < e->n_rest && n < OC_MAX_RANK; k++)
        dims[n++] = e->rest[k];
    }
    if (is_letter(out.p[i]))
      dims[n++] = e->letters[(int)out.p[i]];
  }
  return n;
}

/* Without "->": the broadcast dims, then the letters that occur once, in order. */
static uint32_t put_implicit(const struct einsum *e, int64_t *dims)
{
  uint32_t n = 0;

  for (uint32_t k = 0; k < e->n_rest && n < OC_MAX_RANK; k++)
    dims[n++] = e->rest[k];
  for (int c = 0; c < 128 && n < OC_MAX_RANK; c++)
    if (e->seen[c] && e->count[c] == 1)
      dims[n++] = e->letters[c];
  return n;
}

static void einsum_shape(struct infer *in, struct oc_op *op)
{
  struct oc_str text = oc_attr_string(op, "equation", "");
  const char *arrow = text.len > 1 ? memmem(text.p, text.len, "->", 2) : NULL;
  struct oc_str terms = { text.p, arrow ? (size_t)(arrow - text.p) : text.len };
  struct einsum e = { 0 };
  int64_t dims[OC_MAX_RANK];
  uint32_t input = 0;

  infer_set(in, op, 0, infer_dtype(op, 0), oc_shape_unknown());
  while (input < op->n_inputs) {
    const char *comma = memchr(terms.p, ',', terms.len);
    struct oc_str one = { terms.p, comma ? (size_t)(comma - terms.p) : terms.len };

    if (!add_term(in, op, &e, one, input++))
      return;
    if (!comma)
      break;
    terms.p += one.len + 1;
    terms.len -= one.len + 1;
  }
  if (arrow) {
    struct oc_str out = { arrow + 2, text.len - (size_t)(arrow - text.p) - 2 };

    infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, put(&e, out, dims));
  } else {
    infer_set_dims(in, op, 0, infer_dtype(op, 0), dims, put_implicit(&e, dims));
  }
}

const struct infer_rule infer_einsum_rules[] = {
  { .type = "Einsum", .shape = einsum_shape },
  { .type = NULL },
};
