/* Reading and checking profiles. Numbers first (syntax, count, equal ones), then the
 * inputs (which dims are open, and how many). */
#include "infer/profiles.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

#define FEWEST 2
/* No profile is longer: every input has at most OC_MAX_RANK dims. */
#define MOST_VALUES (64u * 1024)

struct reading {
  struct oc_graph *graph;
  const struct oc_profile_options *o;
  struct oc_findings *findings;
  struct oc_profiles *p;
  const char *flag, *text;
  bool bad;
};

static void tell(struct reading *r, enum oc_finding_id id, const char *subject,
                 const char *name, const char *value)
{
  oc_finding_add(r->findings, id, subject, "flag", r->flag, name, value, NULL)->flag =
      r->flag;
  r->bad = true;
}

static const char *number(struct reading *r, int64_t v)
{
  const char *text = oc_arena_printf(r->graph->arena, "%" PRId64, v);

  return text ? text : "";
}

/* "1,2;3,4": profiles by ';' and values by ',', but a batch size is a profile alone. */
static int64_t *split(struct reading *r, size_t *ret_n, uint32_t *ret_width)
{
  struct oc_str rest = oc_str_of(r->text);
  int64_t *values = OC_NEW_N(r->graph->arena, int64_t, rest.len + 1);
  uint32_t width = 0, in_profile = 0;
  size_t n = 0;

  for (size_t i = 0, from = 0; values && i <= rest.len; i++) {
    char c = i < rest.len ? rest.p[i] : ';';
    struct oc_str word = { rest.p + from, i - from };
    if (c != ',' && c != ';')
      continue;
    if (i == rest.len && word.len == 0 && n > 0 && in_profile == 0)
      break; /* a ';' at the end is taken */
    if (n == MOST_VALUES || !oc_str_to_i64(oc_str_trim(word), &values[n])) {
      tell(r, OC_FINDING_PROFILE_SYNTAX, r->text, "why", "not a list of numbers");
      return NULL;
    }
    from = i + 1;
    n++;
    in_profile++;
    if (c == ',' && r->p->kind != OC_PROFILE_BATCH)
      continue;
    if (width && in_profile != width) {
      tell(r, OC_FINDING_PROFILE_LENGTH, r->text, "why",
           "profiles must have the same number of values");
      return NULL;
    }
    width = in_profile;
    in_profile = 0;
  }
  *ret_n = n;
  *ret_width = width;
  return values;
}

static void check_values(struct reading *r)
{
  const struct oc_profiles *p = r->p;

  if (p->n < FEWEST)
    tell(r, OC_FINDING_PROFILE_FEW, number(r, p->n), "least", number(r, FEWEST));
  if (p->n > r->o->most)
    tell(r, OC_FINDING_PROFILE_MANY, number(r, p->n), "most", number(r, r->o->most));
  for (uint32_t i = 0; i < p->n * p->width && !r->bad; i++)
    if (p->values[i] < 1)
      tell(r, OC_FINDING_PROFILE_POSITIVE, number(r, p->values[i]), "why", "");
  for (uint32_t i = 0; i < p->n && !r->bad; i++)
    for (uint32_t k = 0; k < i && !r->bad; k++)
      if (memcmp(p->values + (size_t)i * p->width, p->values + (size_t)k * p->width,
                 p->width * sizeof *p->values) == 0)
        tell(r, OC_FINDING_PROFILE_TWICE, number(r, i + 1), "first", number(r, k + 1));
}

/* Which dims of an input may be open. */
static bool may_be_open(const struct reading *r, struct oc_shape s, uint32_t dim)
{
  bool last = strcmp(r->o->input_format ? r->o->input_format : "NCHW", "NHWC") == 0;
  uint32_t height = last ? 1 : 2;

  switch (r->p->kind) {
  case OC_PROFILE_BATCH: return dim == 0;
  case OC_PROFILE_IMAGE: return s.rank == 4 && (dim == height || dim == height + 1);
  default: return true;
  }
}

/* Counts the open dims of one input. */
static uint32_t check_input(struct reading *r, const struct oc_op *op)
{
  struct oc_shape s = op->outputs[0].t.shape;
  uint32_t open = 0;

  for (uint32_t i = 0; s.known_rank && i < s.rank; i++) {
    if (s.dims[i] >= 0)
      continue;
    open++;
    if (!may_be_open(r, s, i))
      tell(r,
           r->p->kind == OC_PROFILE_BATCH ? OC_FINDING_PROFILE_BATCH_DIM
                                          : OC_FINDING_PROFILE_IMAGE_DIM,
           op->name, "dim", number(r, i));
  }
  if (r->p->kind == OC_PROFILE_IMAGE && open == 1)
    tell(r, OC_FINDING_PROFILE_IMAGE_DIM, op->name, "dim", "height or width alone");
  if (!s.known_rank || oc_attr_find(op, "_shape_range"))
    tell(r, OC_FINDING_PROFILE_RANGE, op->name, "why", "");
  return open;
}

/* Inputs as --input_shape orders them: those that it names, then the others. */
static uint32_t place_in_text(const struct reading *r, const char *name)
{
  const char *text = r->o->input_shape ? r->o->input_shape : "";
  size_t len = strlen(name);

  for (const char *at = text; (at = strstr(at, name)); at++)
    if ((at == text || at[-1] == ';') && at[len] == ':')
      return (uint32_t)(at - text);
  return UINT32_MAX;
}

static int check_inputs(struct reading *r)
{
  struct oc_graph *g = r->graph;
  uint32_t open = 0;

  r->p->names = OC_NEW_N(g->arena, const char *, g->n_ops);
  if (!r->p->names)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];
    uint32_t here = oc_op_is(op, "Data") && op->n_outputs ? check_input(r, op) : 0;
    if (!here)
      continue;
    open += here;
    uint32_t at = r->p->n_names++;
    for (; at > 0 && place_in_text(r, r->p->names[at - 1]) > place_in_text(r, op->name);
         at--)
      r->p->names[at] = r->p->names[at - 1];
    r->p->names[at] = op->name;
  }
  if (!open)
    tell(r,
         r->p->kind == OC_PROFILE_BATCH ? OC_FINDING_PROFILE_NO_OPEN_BATCH
                                        : OC_FINDING_PROFILE_NO_OPEN_DIM,
         r->flag, "why", "");
  else if (r->p->kind == OC_PROFILE_DIMS && open != r->p->width)
    tell(r,
         open > r->p->width ? OC_FINDING_PROFILE_DIMS_MORE
                            : OC_FINDING_PROFILE_DIMS_COUNT,
         number(r, r->p->width), "open", number(r, open));
  return 0;
}

static bool given(const char *text)
{
  return text && *text;
}

int oc_profiles_read(struct oc_graph *g, const struct oc_profile_options *o,
                     struct oc_findings *findings, struct oc_profiles *ret)
{
  struct oc_profiles p = { 0 };
  struct reading r = { .graph = g, .o = o, .findings = findings, .p = &p };
  size_t n = 0;

  if (given(o->batch)) {
    p.kind = OC_PROFILE_BATCH;
    r.flag = "dynamic_batch_size";
    r.text = o->batch;
  } else if (given(o->image)) {
    p.kind = OC_PROFILE_IMAGE;
    r.flag = "dynamic_image_size";
    r.text = o->image;
  } else if (given(o->dims)) {
    p.kind = OC_PROFILE_DIMS;
    r.flag = "dynamic_dims";
    r.text = o->dims;
  } else {
    *ret = p;
    return 0;
  }
  p.flag = r.flag;
  p.values = split(&r, &n, &p.width);
  if (!p.values)
    return r.bad ? 0 : OC_E_NOMEM;
  p.n = p.width ? (uint32_t)(n / p.width) : 0;
  if (p.kind == OC_PROFILE_IMAGE && p.width != 2)
    tell(&r, OC_FINDING_PROFILE_IMAGE_SYNTAX, r.text, "why", "");
  check_values(&r);
  int rc = check_inputs(&r);
  if (rc == 0 && !r.bad)
    *ret = p;
  return rc;
}
