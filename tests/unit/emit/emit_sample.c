/* emit_sample NAME FILE [--inspect]: writes a hand-made graph as an .om file; with
 * --inspect prints inspect's JSON of FILE instead. For the checks with the independent
 * reader. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emit/emit.h"
#include "om/om.h"
#include "samples.h"

static int fail(const struct oc_error *err)
{
  fprintf(stderr, "emit_sample: %s\n", err->msg);
  return 1;
}

static int inspect(const char *name)
{
  struct oc_error err = { 0 };
  struct oc_arena a;
  struct oc_om_source src;
  struct oc_om_info *info;
  struct oc_buf out;
  struct oc_json_writer w;
  int fd = open(name, O_RDONLY | O_CLOEXEC);

  oc_arena_init(&a, 0);
  oc_buf_init(&out, 64u << 20);
  if (oc_om_source_fd(fd, &src, &err) < 0 || oc_om_inspect(src, &a, &info, &err) < 0)
    return fail(&err);
  oc_json_writer_init(&w, &out, true);
  oc_json_begin_object(&w, NULL);
  oc_om_write_json(info, &w);
  oc_json_end_object(&w);
  puts(oc_buf_str(&out));
  oc_buf_reset(&out);
  oc_om_display(info, &out);
  fputs(oc_buf_str(&out), stderr);
  oc_buf_clear(&out);
  oc_arena_clear(&a);
  close(fd);
  return 0;
}

int main(int argc, char **argv)
{
  struct oc_error err = { 0 };
  struct oc_arena a;
  struct oc_findings fs;
  struct oc_emit_plan *plan;
  const struct oc_emit_options opt = { .soc = "Ascend910B1", .precision_mode = "fp16" };

  if (argc == 4 && strcmp(argv[3], "--inspect") == 0)
    return inspect(argv[2]);
  if (argc != 3)
    return 2;
  oc_arena_init(&a, 0);
  oc_findings_init(&fs, &a);
  struct oc_graph *g = sample_by_name(&a, argv[1]);
  if (!g)
    return 2;
  int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || oc_emit_prepare(g, &opt, &fs, &plan, &err) < 0)
    return fail(&err);
  int rc = oc_emit_write(plan, fd, &err);
  oc_emit_free(plan);
  oc_arena_clear(&a);
  close(fd);
  return rc < 0 ? fail(&err) : 0;
}
