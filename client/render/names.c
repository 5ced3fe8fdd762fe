/* omcc ops: every op with its name, the framework's type, the Ascend IR type, and the
 * list lines that mean it, ready to paste. */
#include <string.h>

#include "base/str.h"
#include "render/render_internal.h"

static bool has_type(const Omcc__V1__Op *op, const char *type)
{
  return !type || oc_streq(type, op->type) || oc_streq(type, op->source_type);
}

static int one(const Omcc__V1__Op *op, struct oc_buf *out)
{
  int rc = oc_render_plain(op->name, out);

  if (!rc)
    rc = oc_buf_printf(out, "\n  type      %s", op->type);
  if (!rc && *op->source_type && strcmp(op->source_type, op->type))
    rc = oc_buf_printf(out, " (%s in the model)", op->source_type);
  if (!rc)
    rc = oc_buf_puts(out, "\n  keep      ");
  if (!rc)
    rc = oc_render_plain(op->name, out);
  if (!rc)
    rc = oc_buf_printf(out, "\n            OpType::%s\n  customize ", op->type);
  if (!rc)
    rc = oc_render_customize_line(op, out);
  return rc ? rc : oc_buf_putc(out, '\n');
}

int oc_render_names(const Omcc__V1__Report *r, const char *type, struct oc_buf *out)
{
  int rc = 0;

  for (size_t i = 0; i < r->n_ops && !rc; i++)
    if (has_type(r->ops[i], type))
      rc = one(r->ops[i], out);
  return rc;
}

static void json_op(struct oc_json_writer *w, const Omcc__V1__Op *op, struct oc_buf *line)
{
  oc_json_begin_object(w, NULL);
  oc_json_put_string(w, "name", op->name);
  oc_json_put_string(w, "type", op->type);
  if (*op->source_type)
    oc_json_put_string(w, "source_type", op->source_type);
  else
    oc_json_put_null(w, "source_type");
  oc_json_begin_object(w, "lines");
  oc_json_put_string(w, "keep_name", op->name);
  oc_buf_reset(line);
  if (!oc_buf_printf(line, "OpType::%s", op->type))
    oc_json_put_string(w, "keep_type", oc_buf_str(line));
  oc_buf_reset(line);
  if (!oc_render_customize_line(op, line))
    oc_json_put_string(w, "customize", oc_buf_str(line));
  oc_json_end_object(w);
  oc_json_begin_array(w, "origin_names");
  for (size_t i = 0; i < op->n_origin_names; i++)
    oc_json_put_string(w, NULL, op->origin_names[i]);
  oc_json_end_array(w);
  oc_json_end_object(w);
}

void oc_render_json_names(struct oc_json_writer *w, const Omcc__V1__Report *r,
                          const char *type)
{
  struct oc_buf line;

  oc_buf_init(&line, 1 << 20);
  oc_json_begin_array(w, "ops");
  for (size_t i = 0; i < r->n_ops; i++)
    if (has_type(r->ops[i], type))
      json_op(w, r->ops[i], &line);
  oc_json_end_array(w);
  oc_buf_clear(&line);
}
