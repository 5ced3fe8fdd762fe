/* omcc inspect FILE.om: what is in the file, read here, without a daemon.
 *
 * --display prints what ATC's mode 6 prints; --json holds every op with its types, shapes
 * and dtypes, so that other readers can be compared with ours. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "om/om.h"

#define SCHEMA "omcc.inspect/1"

static int open_file(struct cli *cli, const char *path, int *ret_fd,
                     struct oc_om_info **ret)
{
  auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  struct oc_om_source source;
  struct oc_error err = { 0 };
  int rc;

  if (fd < 0) {
    oc_finding_add(&cli->findings, OC_FINDING_FILE_UNREADABLE, path, "detail",
                   strerror(errno), "flag", "om", NULL);
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the file cannot be read");
  }
  rc = oc_om_source_fd(fd, &source, &err);
  if (!rc)
    rc = oc_om_inspect(source, &cli->arena, ret, &err);
  if (rc < 0) {
    oc_finding_add(&cli->findings, OC_FINDING_OM_UNREADABLE, path, "detail",
                   oc_arena_strdup(&cli->arena, err.msg), NULL);
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the file is no readable .om");
  }
  *ret_fd = OC_STEAL_FD(fd);
  return 0;
}

static void put_dims(struct oc_json_writer *w, const int64_t *dims, uint32_t rank)
{
  oc_json_begin_array(w, "dims");
  for (uint32_t i = 0; i < rank; i++)
    oc_json_put_i64(w, NULL, dims[i]);
  oc_json_end_array(w);
}

static void put_io(struct oc_json_writer *w, const char *key, const struct oc_om_io *io,
                   size_t n)
{
  oc_json_begin_array(w, key);
  for (size_t i = 0; i < n; i++) {
    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "name", io[i].name);
    oc_json_put_string(w, "dtype", oc_dtype_name(io[i].dtype));
    put_dims(w, io[i].dims, io[i].rank);
    oc_json_put_u64(w, "bytes", io[i].bytes);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
}

static void put_tensor(struct oc_json_writer *w, struct oc_str name,
                       const struct oc_om_desc *d)
{
  oc_json_begin_object(w, NULL);
  oc_json_put_str(w, "name", name);
  oc_json_put_string(w, "dtype", oc_dtype_name(d->dtype));
  oc_json_put_string(w, "origin_dtype", oc_dtype_name(oc_om_desc_origin_dtype(d)));
  put_dims(w, d->dims, d->rank);
  oc_json_put_str(w, "format", d->layout);
  oc_json_end_object(w);
}

static void put_strings(struct oc_json_writer *w, const char *key, const struct oc_str *s,
                        size_t n)
{
  oc_json_begin_array(w, key);
  for (size_t i = 0; i < n; i++)
    oc_json_put_str(w, NULL, s[i]);
  oc_json_end_array(w);
}

static void put_op(struct oc_json_writer *w, const struct oc_om_op *op)
{
  oc_json_begin_object(w, NULL);
  oc_json_put_str(w, "name", op->name);
  oc_json_put_str(w, "type", op->type);
  oc_json_begin_array(w, "inputs");
  for (uint32_t i = 0; i < op->n_input_descs; i++)
    put_tensor(w, oc_om_op_input_name(op, i), &op->input_descs[i]);
  oc_json_end_array(w);
  oc_json_begin_array(w, "outputs");
  for (uint32_t i = 0; i < op->n_output_descs; i++)
    put_tensor(w, oc_om_op_output_name(op, i), &op->output_descs[i]);
  oc_json_end_array(w);
  put_strings(w, "links", op->inputs, op->n_inputs);
  for (uint32_t i = 0; i < op->n_attrs; i++)
    if (oc_str_is(op->attrs[i].name, "_datadump_original_op_names") &&
        op->attrs[i].kind == OC_OM_ATTR_STRINGS)
      put_strings(w, "origin_names", op->attrs[i].u.strings, op->attrs[i].n);
  oc_json_end_object(w);
}

static void put_view(struct oc_json_writer *w, const struct oc_om_view *v)
{
  oc_json_begin_object(w, NULL);
  oc_json_put_str(w, "name", v->def->name);
  oc_json_put_str(w, "soc_version",
                  oc_om_attr_str(v->def->attrs, v->def->n_attrs, "soc_version"));
  oc_json_put_str(w, "command_line",
                  oc_om_attr_str(v->def->attrs, v->def->n_attrs, "atc_cmdline"));
  put_io(w, "inputs", v->inputs, v->n_inputs);
  put_io(w, "outputs", v->outputs, v->n_outputs);
  oc_json_put_i64(w, "memory_size",
                  oc_om_attr_int(v->def->attrs, v->def->n_attrs, "memory_size", -1));
  oc_json_put_i64(w, "weight_size",
                  oc_om_attr_int(v->def->attrs, v->def->n_attrs, "weight_size", -1));
  oc_json_put_u64(w, "kernels", v->tasks.n_kernels);
  oc_json_put_u64(w, "kernels_absent", v->tasks.n_absent);
  oc_json_begin_array(w, "graphs");
  for (uint32_t g = 0; g < v->def->n_graphs; g++) {
    oc_json_begin_object(w, NULL);
    oc_json_put_str(w, "name", v->def->graphs[g].name);
    oc_json_begin_array(w, "ops");
    for (uint32_t i = 0; i < v->def->graphs[g].n_ops; i++)
      put_op(w, &v->def->graphs[g].ops[i]);
    oc_json_end_array(w);
    oc_json_end_object(w);
  }
  oc_json_end_array(w);
  oc_json_end_object(w);
}

static void put_parts(struct oc_json_writer *w, const struct oc_om_file *f)
{
  oc_json_begin_array(w, "partitions");
  for (uint32_t m = 0; m < f->n_models; m++)
    for (uint32_t i = 0; i < f->models[m].n_parts; i++) {
      const struct oc_om_part *p = &f->models[m].parts[i];

      oc_json_begin_object(w, NULL);
      oc_json_put_string(w, "type", oc_om_part_name(p->type));
      oc_json_put_u64(w, "number", p->type);
      oc_json_put_u64(w, "at", p->at);
      oc_json_put_u64(w, "size", p->size);
      oc_json_end_object(w);
    }
  oc_json_end_array(w);
}

static void show_json(struct cli *cli, const char *path, const struct oc_om_info *info)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, SCHEMA, 0, "ok", "", &cli->findings, NULL);
  oc_json_put_string(&w, "file", path);
  oc_json_put_u64(&w, "size", info->file->source.size);
  oc_json_put_string(&w, "name", info->file->header.name);
  oc_json_put_string(&w, "backend", info->builtin ? "builtin" : "atc");
  oc_json_put_bool(&w, "device_ready", info->device_ready);
  oc_json_put_string(&w, "user_info", info->file->header.userdefineinfo);
  put_parts(&w, info->file);
  oc_json_begin_array(&w, "models");
  for (uint32_t i = 0; i < info->n_views; i++)
    put_view(&w, &info->views[i]);
  oc_json_end_array(&w);
  oc_render_json_end(&w);
  oc_buf_putc(&text, '\n');
  cli_out(STDOUT_FILENO, &text);
}

static void io_text(struct oc_buf *out, const char *what, const struct oc_om_io *io,
                    size_t n)
{
  for (size_t i = 0; i < n; i++) {
    oc_buf_printf(out, "  %-7s ", what);
    oc_render_plain(io[i].name, out);
    oc_buf_printf(out, "  %s [", oc_dtype_name(io[i].dtype));
    for (uint32_t d = 0; d < io[i].rank; d++)
      oc_buf_printf(out, "%s%" PRId64, d ? ", " : "", io[i].dims[d]);
    oc_buf_puts(out, "]\n");
  }
}

static void view_text(struct oc_buf *out, const struct oc_om_view *v)
{
  struct oc_str soc = oc_om_attr_str(v->def->attrs, v->def->n_attrs, "soc_version");
  uint32_t n_ops = 0;

  for (uint32_t g = 0; g < v->def->n_graphs; g++)
    n_ops += v->def->graphs[g].n_ops;
  oc_buf_printf(out, "model %.*s for %.*s: %u ops, %u graphs, %u kernels (%u absent)\n",
                (int)v->def->name.len, v->def->name.p, (int)soc.len, soc.p, n_ops,
                v->def->n_graphs, v->tasks.n_kernels, v->tasks.n_absent);
  io_text(out, "input", v->inputs, v->n_inputs);
  io_text(out, "output", v->outputs, v->n_outputs);
}

static void show_text(const char *path, const struct oc_om_info *info)
{
  struct oc_buf text;

  cli_buf(&text);
  oc_render_plain(path, &text);
  oc_buf_puts(&text, ": ");
  oc_render_size(info->file->source.size, &text);
  oc_buf_printf(&text, ", %s, %s\n",
                info->builtin ? "compiled by omcc's builtin backend"
                              : "vendor's compiler",
                info->device_ready ? "device-ready" : "not device-ready");
  for (uint32_t i = 0; i < info->n_views; i++)
    view_text(&text, &info->views[i]);
  for (uint32_t m = 0; m < info->file->n_models; m++)
    for (uint32_t i = 0; i < info->file->models[m].n_parts; i++) {
      const struct oc_om_part *p = &info->file->models[m].parts[i];
      const char *name = oc_om_part_name(p->type);

      oc_buf_printf(&text, "  partition %-18s at %" PRIu64 ", %" PRIu64 " bytes\n",
                    name ? name : "?", p->at, p->size);
    }
  cli_out(STDOUT_FILENO, &text);
}

int verb_display(struct cli *cli, const char *path)
{
  struct oc_om_info *info;
  struct oc_buf text;
  auto_close int fd = -1;
  int status = open_file(cli, path, &fd, &info);

  if (status)
    return status;
  cli_buf(&text);
  oc_om_display(info, &text);
  cli_out(STDOUT_FILENO, &text);
  return 0;
}

int verb_inspect(struct cli *cli)
{
  struct oc_om_info *info;
  auto_close int fd = -1;
  int status = cli_parse(cli, CLI_WORDS);

  if (status)
    return status;
  if (cli->n_words != 1)
    oc_finding_add(&cli->findings, OC_FINDING_OPERAND_MISSING, "inspect", "operands",
                   "one .om file", NULL);
  if (oc_findings_have_errors(&cli->findings))
    return cli_refuse(cli, SCHEMA, OMCC_REQUEST, "the command line is wrong");
  if (oc_flags_true(&cli->flags, "as_display"))
    return verb_display(cli, cli->words[0]);
  status = open_file(cli, cli->words[0], &fd, &info);
  if (status)
    return status;
  if (cli->json)
    show_json(cli, cli->words[0], info);
  else
    show_text(cli->words[0], info);
  return 0;
}
