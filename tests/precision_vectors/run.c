/* One case through options, lists, marks and the resolver, in the vendor's order. */
#include <string.h>

#include "vectors.h"

static const char *text(const struct vec_case *c, const char *key)
{
  return oc_json_string(oc_json_get(c->json, key), NULL);
}

static bool any_error(const struct oc_findings *fs, enum oc_finding_id id)
{
  for (size_t i = 0; i < fs->n; i++)
    if (fs->items[i].id == id)
      return true;
  return false;
}

/* Training runs have another default; the product never trains, so it is stated here. */
static void training_default(const struct vec_case *c, struct oc_mode_choice *m)
{
  const char *run = text(c, "run_mode");

  if (!m->given && run && oc_streq(run, "1"))
    m->mode = OC_MODE_FP32_TO_FP16;
}

static int mark(struct vec_case *c, struct vec_outcome *o)
{
  const char *keep = text(c, "keep_dtype");
  struct oc_keep_list *list = NULL;
  struct oc_keep_marks *marks = NULL;
  int rc;

  if (!keep)
    return 0;
  rc = oc_keep_parse(c->a, keep, strlen(keep), OC_LISTS_VENDOR, &o->findings, &list);
  if (rc)
    return rc;
  rc = oc_precision_mark(c->graph, list, c->a, &o->findings, &marks);
  o->keep = list;
  o->marks = marks;
  o->marked = OC_NEW_N(c->a, const struct oc_op *, c->graph->n_ops);
  if (!o->marked)
    return OC_E_NOMEM;
  for (uint32_t i = 0; i < c->graph->n_ops; i++)
    if (c->graph->ops[i]->keep)
      o->marked[o->n_marked++] = c->graph->ops[i];
  return rc;
}

static int resolve(struct vec_case *c, struct vec_outcome *o,
                   const struct oc_custom_list *custom, const struct oc_mix_list *mix,
                   const char **why)
{
  struct oc_precision_result *result = NULL;
  struct oc_error err = { 0 };

  for (size_t i = 0; i < c->n_kept_by_attribute; i++)
    ((struct oc_op *)(uintptr_t)c->kept_by_attribute[i])->keep = true;
  struct oc_precision_options opt = {
    .mode = o->mode,
    .table = &c->table,
    .soc_bf16 = oc_json_bool(oc_json_get(c->json, "soc_bf16"), true),
    .cube = &c->cube,
    .keep = o->keep,
    .marks = o->marks,
    .custom = custom,
    .mix = mix,
    .no_casts = !oc_json_bool(oc_json_get(c->json, "casts"), true),
  };
  if (oc_precision_resolve(c->graph, &opt, &o->findings, &result, &err)) {
    *why = oc_arena_strdup(c->a, err.msg);
    return -1;
  }
  o->result = result;
  if (any_error(&o->findings, OC_FINDING_MODE_NEEDS_BF16))
    o->status = "mode_error";
  else if (result->n_judge_failed)
    o->status = "judge_error";
  else
    o->status = "ok";
  return 0;
}

int vec_run(struct vec_case *c, struct vec_outcome *o, const char **why)
{
  const char *custom = text(c, "customize_dtypes"), *mix = text(c, "modify_mixlist");
  struct oc_custom_list *custom_list = NULL;
  struct oc_mix_list *mix_list = NULL;
  int rc = 0;

  *o = (struct vec_outcome){ .status = "ok" };
  oc_findings_init(&o->findings, c->a);
  if (oc_precision_mode(text(c, "precision_mode"), text(c, "precision_mode_v2"),
                        mix ? "mixlist.json" : NULL, &o->findings, &o->mode)) {
    o->status = "option_error";
    return 0;
  }
  training_default(c, &o->mode);
  if (custom && oc_custom_parse(c->a, custom, strlen(custom), OC_LISTS_VENDOR,
                                &o->findings, &custom_list))
    o->status = "customize_dtypes_error";
  else if (mix &&
           oc_mix_parse(c->a, mix, strlen(mix), OC_LISTS_VENDOR, &o->findings, &mix_list))
    o->status = "modify_mixlist_error";
  else if (mark(c, o))
    o->status = "keep_dtype_error";
  else
    rc = resolve(c, o, custom_list, mix_list, why);
  oc_custom_clear(custom_list);
  oc_mix_clear(mix_list);
  return rc;
}
