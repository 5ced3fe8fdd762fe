/* The fixed JSON: a frame that every answer has, and the report inside it. Names are
 * promises (schema/json); what is not known is null, never missing. */
#include "base/dtype.h"
#include "base/str.h"
#include "render/render_internal.h"

static void text_or_null(struct oc_json_writer *w, const char *key, const char *value)
{
  if (value && *value)
    oc_json_put_string(w, key, value);
  else
    oc_json_put_null(w, key);
}

static void formatted(struct oc_json_writer *w, const char *key, const char *tmpl,
                      const struct oc_finding *f)
{
  struct oc_buf text;

  oc_buf_init(&text, 1 << 20);
  if (!oc_finding_format(tmpl, f, &text))
    text_or_null(w, key, oc_buf_str(&text));
  else
    oc_json_put_null(w, key);
  oc_buf_clear(&text);
}

static void place(struct oc_json_writer *w, const char *file, uint32_t line,
                  const struct oc_places *places, const char *flag, uint32_t entry)
{
  if (!file || !*file)
    oc_places_find(places, flag, entry, &file, &line);
  text_or_null(w, "file", file);
  if (line)
    oc_json_put_u64(w, "line", line);
  else
    oc_json_put_null(w, "line");
}

static void finding(struct oc_json_writer *w, const struct oc_finding *f,
                    const struct oc_places *places)
{
  const struct oc_finding_info *info = oc_finding_info(f->id);

  oc_json_begin_object(w, NULL);
  oc_json_put_string(w, "id", info->id);
  oc_json_put_string(w, "severity", oc_severity_name(f->severity));
  text_or_null(w, "code", info->vendor_code);
  place(w, f->file, f->line, places, f->flag, f->entry);
  text_or_null(w, "flag", f->flag);
  text_or_null(w, "subject", f->subject);
  formatted(w, "text", info->text, f);
  formatted(w, "fix", info->fix, f);
  oc_json_end_object(w);
}

void oc_render_json_begin(struct oc_json_writer *w, const char *schema, int status,
                          const char *code, const char *message,
                          const struct oc_findings *fs, const struct oc_places *places)
{
  oc_json_begin_object(w, NULL);
  oc_json_put_string(w, "schema", schema);
  oc_json_put_bool(w, "ok", status == 0);
  oc_json_put_string(w, "code", code);
  oc_json_put_string(w, "message", message ? message : "");
  oc_json_begin_array(w, "findings");
  for (size_t i = 0; fs && i < fs->n; i++)
    finding(w, &fs->items[i], places);
  oc_json_end_array(w);
  oc_json_begin_object(w, "data");
}

void oc_render_json_end(struct oc_json_writer *w)
{
  oc_json_end_object(w);
  oc_json_end_object(w);
}

const char *oc_render_dtype(uint32_t d)
{
  return oc_dtype_name(d < OC_DT_COUNT ? (enum oc_dtype)d : OC_DT_UNDEFINED);
}

struct view {
  const Omcc__V1__Report *r;
  const struct oc_places *places;
  bool chains;
};

static void chain(struct oc_json_writer *w, const struct view *v,
                  const Omcc__V1__Tensor *t)
{
  struct oc_buf text;

  oc_buf_init(&text, 1 << 20);
  oc_json_begin_array(w, "reasons");
  for (size_t i = 0; i < t->n_reasons; i++) {
    const Omcc__V1__Reason *m = t->reasons[i];

    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "rule", m->rule);
    place(w, NULL, 0, v->places, m->flag, m->entry);
    oc_buf_reset(&text);
    if (!oc_render_sentence(v->r, m, v->places, &text))
      oc_json_put_string(w, "text", oc_buf_str(&text));
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
  oc_buf_clear(&text);
}

static void next_steps(struct oc_json_writer *w, const Omcc__V1__Op *op)
{
  struct oc_buf text;

  oc_buf_init(&text, 1 << 20);
  oc_json_begin_array(w, "next");
  if (oc_render_is_compute(op) && !oc_render_next_keep(op, &text))
    oc_json_put_string(w, NULL, oc_buf_str(&text));
  oc_buf_reset(&text);
  if (oc_render_is_compute(op) && !oc_render_next_customize(op, &text))
    oc_json_put_string(w, NULL, oc_buf_str(&text));
  oc_json_end_array(w);
  oc_buf_clear(&text);
}

static void tensors(struct oc_json_writer *w, const char *key, Omcc__V1__Tensor **list,
                    size_t n, const struct view *v)
{
  oc_json_begin_array(w, key);
  for (size_t i = 0; i < n; i++) {
    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "name", list[i]->name);
    oc_json_put_string(w, "orig", oc_render_dtype(list[i]->orig));
    oc_json_put_string(w, "got", oc_render_dtype(list[i]->got));
    if (v->chains) {
      oc_json_put_string(w, "want", oc_render_dtype(list[i]->want));
      chain(w, v, list[i]);
    }
    if (list[i]->unknown_rank) {
      oc_json_put_null(w, "dims");
    } else {
      oc_json_begin_array(w, "dims");
      for (size_t d = 0; d < list[i]->n_dims; d++)
        oc_json_put_i64(w, NULL, list[i]->dims[d]);
      oc_json_end_array(w);
    }
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

static void reason(struct oc_json_writer *w, const Omcc__V1__Report *r,
                   const Omcc__V1__Reason *m, const struct oc_places *places)
{
  struct oc_buf text;

  if (!m) {
    oc_json_put_null(w, "reason");
    return;
  }
  oc_buf_init(&text, 1 << 20);
  oc_json_begin_object(w, "reason");
  oc_json_put_string(w, "rule", m->rule);
  place(w, NULL, 0, places, m->flag, m->entry);
  if (!oc_render_reason(r, m, places, &text))
    oc_json_put_string(w, "text", oc_buf_str(&text));
  oc_json_end_object(w);
  oc_buf_clear(&text);
}

static void ops(struct oc_json_writer *w, const Omcc__V1__Report *r, const struct view *v)
{
  oc_json_begin_array(w, "ops");
  for (size_t i = 0; i < r->n_ops; i++) {
    const Omcc__V1__Op *op = r->ops[i];

    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "name", op->name);
    oc_json_put_string(w, "type", op->type);
    text_or_null(w, "source_type", op->source_type);
    oc_json_put_string(w, "engine", op->engine);
    oc_json_put_bool(w, "kept", op->kept);
    oc_json_put_string(w, "sure", op->sure);
    tensors(w, "inputs", op->inputs, op->n_inputs, v);
    tensors(w, "outputs", op->outputs, op->n_outputs, v);
    reason(w, v->r, op->reason, v->places);
    if (v->chains)
      next_steps(w, op);
    oc_json_begin_array(w, "origin_names");
    for (size_t k = 0; k < op->n_origin_names; k++)
      oc_json_put_string(w, NULL, op->origin_names[k]);
    oc_json_end_array(w);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

void oc_render_json_lists(struct oc_json_writer *w, const Omcc__V1__Report *r,
                          const struct oc_places *places)
{
  oc_json_begin_array(w, "lists");
  for (size_t i = 0; i < r->n_lists; i++) {
    const Omcc__V1__ListEntry *e = r->lists[i];

    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "flag", e->flag);
    place(w, NULL, 0, places, e->flag, e->entry);
    oc_json_put_string(w, "text", e->text);
    oc_json_put_string(w, "state", e->state);
    oc_json_put_u64(w, "ops", e->ops);
    oc_json_put_u64(w, "kept", e->kept);
    oc_json_put_i64(w, "casts_added", e->casts_added);
    oc_json_put_i64(w, "bytes_added", e->bytes_added);
    oc_json_put_u64(w, "moved", e->moved);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

void oc_render_json_report(struct oc_json_writer *w, const Omcc__V1__Report *r,
                           const Omcc__V1__Report *shown, bool chains,
                           const struct oc_places *places)
{
  struct view v = { r, places, chains };

  oc_json_begin_object(w, "mode");
  oc_json_put_string(w, "value", r->mode);
  oc_json_put_bool(w, "given", r->mode_given);
  oc_json_end_object(w);
  oc_json_put_string(w, "soc", r->soc);
  oc_json_begin_object(w, "table");
  oc_json_put_string(w, "id", r->table_id);
  oc_json_put_string(w, "source", r->table_source);
  oc_json_end_object(w);
  oc_json_put_bool(w, "resolved", r->resolved);
  ops(w, shown, &v);
  oc_render_json_lists(w, r, places);
  oc_json_begin_object(w, "casts");
  oc_json_put_u64(w, "added", r->casts_added);
  oc_json_put_u64(w, "removed", r->casts_removed);
  oc_json_end_object(w);
  oc_render_json_totals(w, r);
  text_or_null(w, "input_shape_hint", r->input_shape_hint);
}
