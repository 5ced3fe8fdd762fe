/* A small well-formed .om: one input, one output, weights that depend on the model's
 * bytes and on every flag but on no path, so that equal requests give equal files. */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "om/om.h"

#define CAP (1u << 30)

static void mix(uint64_t *h, const void *p, size_t len)
{
  uint64_t pair[2] = { *h, oc_hash_bytes(p, len) };

  *h = oc_hash_bytes(pair, sizeof(pair));
}

static void mix_file(uint64_t *h, const char *path)
{
  static char chunk[1 << 16];
  FILE *f = fopen(path, "re");
  size_t n;

  while (f && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
    mix(h, chunk, n);
  if (f)
    fclose(f);
}

static uint64_t hash_of_request(const struct oc_flags *flags)
{
  uint64_t h = 1;

  for (size_t i = 0; i < flags->n; i++) {
    const struct oc_flag *f = &flags->items[i];
    mix(&h, f->name, strlen(f->name));
    if (f->info && f->info->content == OC_FLAG_OUT_PATH)
      continue;
    if (f->info && f->info->content != OC_FLAG_NOT_A_PATH)
      mix_file(&h, f->value);
    else
      mix(&h, f->value, strlen(f->value));
  }
  if (knob("FAKE_NONDET")) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    mix(&h, &t, sizeof(t));
  }
  return h;
}

/* argv as the compiler records it, without the folders that differ from run to run. */
static char *command_line(struct oc_arena *arena, int argc, char **argv)
{
  char *line = oc_arena_strdup(arena, "atc.bin");

  for (int i = 1; line && i < argc; i++) {
    const char *equals = strchr(argv[i], '='), *slash = strrchr(argv[i], '/');
    if (equals && slash > equals)
      line = oc_arena_printf(arena, "%s %.*s=%s", line, (int)(equals - argv[i]), argv[i],
                             slash + 1);
    else
      line = oc_arena_printf(arena, "%s %s", line, argv[i]);
  }
  return line;
}

static struct oc_om_attr text_attr(const char *name, const char *value)
{
  return (struct oc_om_attr){ .name = oc_str_of(name),
                              .kind = OC_OM_ATTR_STRING,
                              .u.s = oc_str_of(value) };
}

static int write_model_def(const char *label, const char *soc, const char *line,
                           struct oc_buf *out, struct oc_arena *arena)
{
  int64_t dims[] = { 1, 3, 8, 8 };
  struct oc_om_desc desc = { .name = oc_str_of("y"),
                             .dtype = OC_DT_F32,
                             .rank = 4,
                             .dims = dims,
                             .layout = oc_str_of("NCHW") };
  struct oc_str from_data = oc_str_of("x:0"), none = oc_str_of("");
  struct oc_om_op ops[] = {
    { .name = oc_str_of("x"),
      .type = oc_str_of("Data"),
      .inputs = &none,
      .n_inputs = 0,
      .output_descs = &desc,
      .n_output_descs = 1,
      .id = 0 },
    { .name = oc_str_of("Node_Output"),
      .type = oc_str_of("NetOutput"),
      .inputs = &from_data,
      .n_inputs = 1,
      .input_descs = &desc,
      .n_input_descs = 1,
      .id = 1 },
  };
  struct oc_om_attr attrs[3 + COMPRESS_ATTRS] = {
    text_attr("atc_cmdline", line), text_attr("soc_version", soc),
    text_attr("atc_version", "8.1.RC1.fake")
  };
  bool compress = knob("FAKE_COMPRESS") != NULL;
  struct oc_om_graph graph = { .n_ops = 2 };
  struct oc_om_op *mapped = NULL;
  uint32_t n_mapped = 0;

  if (op_map_read(arena, 2, &mapped, &n_mapped) < 0)
    return -1;
  graph.ops = OC_NEW_N(arena, struct oc_om_op, 2 + n_mapped);
  if (!graph.ops)
    return -1;
  memcpy(graph.ops, ops, sizeof(ops));
  if (n_mapped)
    memcpy(graph.ops + 2, mapped, n_mapped * sizeof(*mapped));
  graph.n_ops = 2 + n_mapped;
  if (compress && compress_attrs(arena, &graph, attrs + 3) < 0)
    return -1;
  struct oc_om_def def = { .platform = oc_str_of("1.11.z.0"),
                           .ir_version = 2,
                           .graphs = &graph,
                           .n_graphs = 1,
                           .attrs = attrs,
                           .n_attrs = compress ? 3 + COMPRESS_ATTRS : 3 };

  graph.name = oc_str_of(oc_arena_printf(arena, "%s_0", label));
  def.name = oc_str_of(label);
  return oc_om_write_def(&def, out);
}

static int save(const char *path, const struct oc_buf *b)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool ok = fd >= 0 && write(fd, b->data, b->len) == (ssize_t)b->len;

  if (fd >= 0)
    close(fd);
  if (!ok)
    perror(path);
  return ok ? 0 : -1;
}

static void fill(struct oc_buf *out, uint64_t seed, size_t size)
{
  uint64_t x = seed | 1;

  for (size_t at = 0; at < size; at += sizeof(x)) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    oc_buf_append(out, &x, size - at < sizeof(x) ? size - at : sizeof(x));
  }
}

/* The weights go into the file, or with --external_weight beside it. */
static int write_weights(const struct oc_flags *flags, const char *output,
                         struct oc_buf *weights)
{
  const char *external = oc_flags_get(flags, "external_weight");
  char path[4096];

  if (!external || oc_streq(external, "0"))
    return 0;
  const char *slash = strrchr(output, '/');
  snprintf(path, sizeof(path), "%.*sweight", slash ? (int)(slash - output) + 1 : 0,
           output);
  mkdir(path, 0700);
  size_t folder = strlen(path);
  int rc = 0;
  for (long n = knob_number("FAKE_WEIGHT_FILES", 1); n > 0 && rc == 0; n--) {
    snprintf(path + folder, sizeof(path) - folder, "/weight_%016llx",
             (unsigned long long)oc_hash_bytes(weights->data, weights->len));
    rc = save(path, weights);
    weights->data[0]++; /* the next one has another name */
  }
  oc_buf_reset(weights);
  oc_buf_fill(weights, 0, OC_OM_WEIGHT_ALIGN);
  return rc;
}

static int write_om(const struct oc_flags *flags, const char *line,
                    struct oc_arena *arena)
{
  const char *output = oc_flags_get(flags, "output"),
             *shape = oc_flags_get(flags, "input_shape");
  bool dynamic =
      knob("FAKE_DYNAMIC") || (shape && (strstr(shape, "-1") || strchr(shape, '~')));
  char label[OC_OM_NAME_SIZE], path[4096];
  struct oc_om_front front = {
    .platform = "1.11.z.0", .user_info = "", .n_parts = 2, .is_unknown_model = dynamic
  };
  struct oc_buf def, weights, file;
  int rc;

  oc_om_label_of(output, label);
  oc_buf_init(&def, CAP);
  oc_buf_init(&weights, CAP);
  oc_buf_init(&file, CAP);
  fill(&weights, hash_of_request(flags), (size_t)knob_number("FAKE_SIZE", 65536));
  rc = write_weights(flags, output, &weights);
  if (rc == 0)
    rc = write_model_def(label, oc_flags_get(flags, "soc_version"), line, &def, arena);
  front.name = label;
  front.parts[0] = (struct oc_om_part){ .type = OC_OM_MODEL_DEF, .size = def.len };
  front.parts[1] = (struct oc_om_part){ .type = OC_OM_WEIGHTS, .size = weights.len };
  if (rc == 0)
    rc = oc_om_write_front(&front, &file);
  oc_buf_append(&file, def.data, def.len);
  oc_buf_append(&file, weights.data, weights.len);
  snprintf(path, sizeof(path), dynamic ? "%s_linux_x86_64.om" : "%s.om", output);
  rc = rc == 0 && !file.failed ? save(path, &file) : -1;
  oc_buf_clear(&def);
  oc_buf_clear(&weights);
  oc_buf_clear(&file);
  return rc;
}

static int write_text(const char *path, const char *text)
{
  struct oc_buf b;

  oc_buf_init(&b, 4096);
  oc_buf_puts(&b, text);
  int rc = save(path, &b);
  oc_buf_clear(&b);
  return rc;
}

int write_result(const struct oc_flags *flags, int argc, char **argv)
{
  const char *report = oc_flags_get(flags, "check_report");
  struct oc_arena arena;
  int rc = -1;

  if (knob("FAKE_NO_OUTPUT"))
    return 0;
  if (oc_flags_mode(flags) == 3)
    return write_text(report ? report : "check_result.json", "{\"op\": []}\n");
  if (oc_flags_mode(flags) == 1)
    return write_text(oc_flags_get(flags, "json"), "{\"graph\": []}\n");
  if (report && write_text(report, "{\"op\": []}\n") < 0)
    return -1;
  oc_arena_init(&arena, 0);
  char *line = command_line(&arena, argc, argv);
  if (line)
    rc = write_om(flags, line, &arena);
  oc_arena_clear(&arena);
  return rc;
}
