/* One report with a bit of everything, built in an arena. */
#include "base/dtype.h"
#include "suites.h"

static const uint32_t lines[] = { 1, 3 };
static const struct oc_place_list lists[] = {
  { .flag = "keep_dtype", .file = "keep.cfg", .lines = lines, .n = 2 },
};
const struct oc_places sample_places = { .lists = lists, .n = 1 };

static Omcc__V1__Tensor *tensor(struct oc_arena *a, const char *name, uint32_t orig,
                                uint32_t got)
{
  Omcc__V1__Tensor *t = OC_NEW(a, Omcc__V1__Tensor);

  omcc__v1__tensor__init(t);
  t->name = (char *)name;
  t->orig = orig;
  t->want = got;
  t->got = got;
  t->n_dims = 2;
  t->dims = OC_NEW_N(a, int64_t, 2);
  t->dims[0] = 1;
  t->dims[1] = -1;
  return t;
}

struct made {
  const char *name, *type, *engine, *rule, *flag;
  uint32_t entry, orig, got;
};

static Omcc__V1__Op *op(struct oc_arena *a, const struct made *m)
{
  Omcc__V1__Op *o = OC_NEW(a, Omcc__V1__Op);

  omcc__v1__op__init(o);
  o->name = (char *)m->name;
  o->type = (char *)m->type;
  o->engine = (char *)m->engine;
  o->kept = m->entry != 0;
  o->sure = (char *)"exact";
  o->inputs = OC_NEW_N(a, Omcc__V1__Tensor *, 1);
  o->inputs[0] = tensor(a, "x", m->orig, m->got);
  o->n_inputs = 1;
  o->outputs = OC_NEW_N(a, Omcc__V1__Tensor *, 1);
  o->outputs[0] = tensor(a, "y", m->orig, m->got);
  o->n_outputs = 1;
  o->reason = OC_NEW(a, Omcc__V1__Reason);
  omcc__v1__reason__init(o->reason);
  o->reason->rule = (char *)m->rule;
  o->reason->flag = (char *)m->flag;
  o->reason->entry = m->entry;
  return o;
}

static Omcc__V1__ListEntry *entry(struct oc_arena *a, uint32_t n, const char *text,
                                  const char *state, uint32_t ops)
{
  Omcc__V1__ListEntry *e = OC_NEW(a, Omcc__V1__ListEntry);

  omcc__v1__list_entry__init(e);
  e->flag = (char *)"keep_dtype";
  e->entry = n;
  e->text = (char *)text;
  e->state = (char *)state;
  e->ops = ops;
  return e;
}

const Omcc__V1__Report *sample_report(struct oc_arena *a)
{
  static const struct made made[] = {
    { "images", "Data", "graph", "graph-op", "", 0, OC_DT_F32, OC_DT_F32 },
    { "/b0/conv/Conv", "Conv2D", "aicore", "mode", "", 0, OC_DT_F32, OC_DT_F16 },
    { "/b0/act/Relu", "Relu", "aicore", "keep", "keep_dtype", 1, OC_DT_F32, OC_DT_F32 },
    { "/a/very/long/name/that/does/not/fit/into/eighty/columns/Sign", "Sign", "aicpu",
      "aicpu", "", 0, OC_DT_F32, OC_DT_F32 },
    { "Node_Output", "NetOutput", "graph", "graph-op", "", 0, OC_DT_F32, OC_DT_F32 },
  };
  Omcc__V1__Report *r = OC_NEW(a, Omcc__V1__Report);

  omcc__v1__report__init(r);
  r->mode = (char *)"fp16";
  r->soc = (char *)"Ascend310P3";
  r->table_id = (char *)"ascend310p";
  r->table_source = (char *)"public";
  r->resolved = true;
  r->casts_added = 2;
  r->ops = OC_NEW_N(a, Omcc__V1__Op *, 5);
  for (; r->n_ops < 5; r->n_ops++)
    r->ops[r->n_ops] = op(a, &made[r->n_ops]);
  r->lists = OC_NEW_N(a, Omcc__V1__ListEntry *, 2);
  r->lists[r->n_lists++] = entry(a, 1, "OpType::Relu", "used", 1);
  r->lists[0]->kept = 1;
  r->lists[0]->casts_added = 2;
  r->lists[0]->bytes_added = -1024;
  r->lists[0]->moved = 1;
  r->lists[r->n_lists++] = entry(a, 2, "/b0/conv/Con", "unmatched", 0);
  return r;
}
