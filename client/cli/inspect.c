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
#include "cli/inspect.h"

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

static void show_json(struct cli *cli, const char *path, const struct oc_om_info *info)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  oc_json_writer_init(&w, &text, true);
  oc_render_json_begin(&w, SCHEMA, 0, "ok", "", &cli->findings, NULL);
  oc_json_put_string(&w, "file", path);
  oc_json_put_string(&w, "backend", info->builtin ? "builtin" : "atc");
  oc_om_write_json(info, &w);
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
  oc_buf_printf(out, "model %.*s%s%.*s: %u ops, %u graphs, %u kernels (%u absent)\n",
                (int)v->def->name.len, v->def->name.p, soc.len ? " for " : "",
                (int)soc.len, soc.p, n_ops, v->def->n_graphs, v->tasks.n_kernels,
                v->tasks.n_absent);
  io_text(out, "input", v->inputs, v->n_inputs);
  io_text(out, "output", v->outputs, v->n_outputs);
}

static void parts_text(struct oc_buf *out, const struct oc_om_file *f, uint32_t model)
{
  for (uint32_t i = 0; model < f->n_models && i < f->models[model].n_parts; i++) {
    const struct oc_om_part *p = &f->models[model].parts[i];
    const char *name = oc_om_part_name(p->type);

    oc_buf_printf(out, "  partition %-18s at %" PRIu64 ", %" PRIu64 " bytes\n",
                  name ? name : "?", p->at, p->size);
  }
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
  for (uint32_t i = 0; i < info->n_views; i++) {
    view_text(&text, &info->views[i]);
    parts_text(&text, info->file, i);
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
  if (oc_flags_get(&cli->flags, "check_list"))
    return inspect_check_list(cli, cli->words[0], info,
                              oc_flags_get(&cli->flags, "check_list"));
  if (cli->json)
    show_json(cli, cli->words[0], info);
  else
    show_text(cli->words[0], info);
  return 0;
}
