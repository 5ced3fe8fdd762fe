/* --op: the chain of reasons of every tensor of one op, a sentence each, and what to do
 * next when the result is not what one wants: keep_dtype first, then customize_dtypes. */
#include <string.h>

#include "base/dtype.h"
#include "base/str.h"
#include "render/render_internal.h"

/* One sentence per rule of the resolver's vocabulary. */
static const struct oc_render_rule sentences[] = {
  { "graph-op", "it is not computed, so it keeps the model's dtype" },
  { "input-option", "--input_fp16_nodes makes this input float16" },
  { "output-option", "--output_type sets the dtype of this output" },
  { "keep", "{line} keeps the model's dtype" },
  { "keep-same", "{line} keeps the model's dtype, which it would have had anyway" },
  { "customize", "{line} sets the dtype" },
  { "dtype-sensitive", "the op works on dtypes, so no mode changes it" },
  { "inherit", "the op is marked to follow its predecessor '{subject}'" },
  { "framework-op", "the op has no kernel and follows the rules of mixed_float16" },
  { "continuous-input", "it shares memory with its producer and so its dtype" },
  { "lowered-with-sibling",
    "another tensor of the op was lowered, and this one follows" },
  { "mode", "mode {mode} decides" },
  { "white", "the type is on the white list of mode {mode}" },
  { "black", "the type is on the black list of mode {mode}" },
  { "gray", "the type is on no list of mode {mode}, so it follows its predecessor" },
  { "mixlist", "{line} of --modify_mixlist changes the type's list" },
  { "cube", "for a matrix op float16 is tried first" },
  { "cube-fp16-in", "this matrix op takes float16 and delivers float32" },
  { "promote", "inputs of different dtypes are promoted to {dtype}" },
  { "own-dtype", "the model's own dtype {dtype} is asked for" },
  { "follow", "the dtype of its predecessor '{subject}' is asked for" },
  { "follow-through-cast", "the dtype before the Cast, of '{subject}', is asked for" },
  { "hif8-list", "{dtype} is the first of the mode's preferences that fits" },
  { "match", "the table offers {dtype}" },
  { "raised", "the table offers {offered} only, so it is raised to {dtype}" },
  { "lowered", "the table offers {offered} only, so it is lowered to {dtype}" },
  { "no-match", "no column fits this tensor, so the other tensors decide" },
  { "emptied", "without the forbidden dtypes no column is left" },
  { "column", "column {column} of the table fits the whole op" },
  { "format", "column {column} of the table is taken because of the format" },
  { "only-dtype", "{dtype} is the only dtype in the table" },
  { "aicore-refused", "the AI Core does not take {dtype} (it offers {offered})" },
  { "aicpu", "the op runs on AI CPU, with the model's dtype" },
  { "no-engine", "no engine of the chip takes the op" },
  { "not-in-table", "the chip's table does not have the type" },
  { "unknown", "no table has the type, so its dtypes stay as in the model" },
  { "folded", "the op is gone before code is generated" },
  { "no-kernel", "the op has no kernel and keeps its dtype" },
  { "cast-inserted", "a Cast was inserted, because two ends of an edge differ" },
  { "cast-removed", "opposite Casts cancelled out" },
};

int oc_render_sentence(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                       const struct oc_places *places, struct oc_buf *out)
{
  return oc_render_rule(sentences, sizeof(sentences) / sizeof(sentences[0]), r, reason,
                        places, out);
}

static int sentence_line(const Omcc__V1__Report *r, const Omcc__V1__Reason *reason,
                         const struct oc_style *style, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, "    - ");

  if (!rc)
    rc = oc_render_sentence(r, reason, style->places, out);
  return rc ? rc : oc_buf_putc(out, '\n');
}

static int tensor_chain(const Omcc__V1__Report *r, const char *what,
                        const Omcc__V1__Tensor *t, const struct oc_style *style,
                        struct oc_buf *out)
{
  int rc = oc_buf_printf(out, "  %s ", what);

  if (!rc)
    rc = oc_render_plain(t->name, out);
  if (!rc)
    rc = oc_buf_printf(out, ": %s in the model, wanted %s, gets %s\n",
                       oc_render_dtype(t->orig), oc_render_dtype(t->want),
                       oc_render_dtype(t->got));
  for (size_t i = 0; i < t->n_reasons && !rc; i++)
    rc = sentence_line(r, t->reasons[i], style, out);
  return rc;
}

static int dtype_list(Omcc__V1__Tensor **list, size_t n, struct oc_buf *out)
{
  int rc = 0;

  for (size_t i = 0; i < n && !rc; i++) {
    const char *word = oc_render_dtype(list[i]->orig);

    /* An empty place does not care. */
    rc = oc_buf_printf(out, "%s%s", i ? "," : "",
                       list[i]->orig == OC_DT_UNDEFINED ? "" : word);
  }
  return rc;
}

int oc_render_customize_line(const Omcc__V1__Op *op, struct oc_buf *out)
{
  int rc = oc_render_plain(op->name, out);

  if (!rc)
    rc = oc_buf_puts(out, "::InputDtype:");
  if (!rc)
    rc = dtype_list(op->inputs, op->n_inputs, out);
  if (!rc && op->n_outputs)
    rc = oc_buf_puts(out, ",OutputDtype:");
  return rc ? rc : dtype_list(op->outputs, op->n_outputs, out);
}

/* Lines that nothing can be said with: not computed at all. */
static bool has_next(const Omcc__V1__Op *op)
{
  return oc_render_is_compute(op);
}

int oc_render_next_keep(const Omcc__V1__Op *op, struct oc_buf *out)
{
  if (op->kept)
    return oc_buf_puts(out, "the op is kept; to let the mode decide again, take its line "
                            "out of the --keep_dtype list");
  int rc =
      oc_buf_puts(out, "to keep the model's dtypes, add this line to the --keep_dtype "
                       "list: ");
  return rc ? rc : oc_render_plain(op->name, out);
}

int oc_render_next_customize(const Omcc__V1__Op *op, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, "if that is not enough, choose every dtype with a line of "
                            "--customize_dtypes: ");

  return rc ? rc : oc_render_customize_line(op, out);
}

static int next_steps(const Omcc__V1__Op *op, struct oc_buf *out)
{
  int rc = oc_buf_puts(out, "next: ");

  if (!rc)
    rc = oc_render_next_keep(op, out);
  if (!rc)
    rc = oc_buf_puts(out, "\n      ");
  if (!rc)
    rc = oc_render_next_customize(op, out);
  return rc ? rc : oc_buf_putc(out, '\n');
}

static int head(const Omcc__V1__Op *op, struct oc_buf *out)
{
  int rc = oc_render_plain(op->name, out);

  if (!rc)
    rc = oc_buf_printf(out, ": %s", op->type);
  if (!rc && *op->source_type && strcmp(op->source_type, op->type))
    rc = oc_buf_printf(out, " (%s in the model)", op->source_type);
  if (!rc)
    rc = oc_buf_printf(out, ", engine %s, sure: %s", op->engine, op->sure);
  return rc ? rc : oc_buf_putc(out, '\n');
}

int oc_render_chain(const Omcc__V1__Report *r, const Omcc__V1__Op *op,
                    const struct oc_style *style, struct oc_buf *out)
{
  int rc = head(op, out);

  if (!rc && op->reason)
    rc = oc_buf_puts(out, "  decided by:\n");
  if (!rc && op->reason)
    rc = sentence_line(r, op->reason, style, out);
  for (size_t i = 0; i < op->n_inputs && !rc; i++)
    rc = tensor_chain(r, "input", op->inputs[i], style, out);
  for (size_t i = 0; i < op->n_outputs && !rc; i++)
    rc = tensor_chain(r, "output", op->outputs[i], style, out);
  return rc || !has_next(op) ? rc : next_steps(op, out);
}
