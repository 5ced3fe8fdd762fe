/* infer_models [--all yes] [--passes yes] [--tensors LIST] [--input_shape TEXT]
 *              [--feed FILE] MODEL...
 *
 * Imports each ONNX model, infers, and prints one JSON line per model with the dtype and
 * shape of what the graph's end reads: the model's outputs, or the tensors of --tensors
 * (the same list that --out_nodes takes), which is how every intermediate tensor can be
 * asked for. Dims that are not known are null. --feed gives values for inputs, one line
 * each: name, dtype, dims with commas (- for a scalar), bytes in hex; inference then
 * follows them as if they were constants. --all adds every output of every op, sub-graphs
 * included; --passes runs every pass there is (but retyping, which needs a chip) and
 * infers once more. External data is looked for beside the model.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "graph/graph.h"
#include "import/import.h"
#include "infer/infer.h"
#include "passes/passes.h"

static const size_t MOST_OUTPUT = 256u << 20;
static const size_t MOST_FEED = 64u << 20;

struct settings {
  const char *tensors;
  const char *input_shape;
  const char *feed;
  bool all;
  bool passes;
};

static const uint8_t *map_file(const char *path, size_t *ret_len)
{
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;

  if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
    return NULL;

  void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

  *ret_len = (size_t)st.st_size;
  return p == MAP_FAILED ? NULL : p;
}

static char *read_text(const char *path)
{
  size_t len = 0;
  const uint8_t *p = map_file(path, &len);
  char *text = p ? strndup((const char *)p, len) : NULL;

  if (p)
    (void)munmap((void *)p, len);
  return text;
}

static struct oc_import_file *external_files(const char *model,
                                             const struct oc_import_options *o,
                                             struct oc_arena *a, struct oc_findings *fs,
                                             size_t *ret_n)
{
  const char *const *names = NULL;
  size_t n = 0;
  struct oc_error err = { 0 };

  *ret_n = 0;
  if (oc_import_external(o->model, o->model_len, a, &names, &n, fs, &err) < 0 || n == 0)
    return NULL;

  struct oc_import_file *files = OC_NEW_N(a, struct oc_import_file, n);

  for (size_t i = 0; files && i < n; i++) {
    char *copy = oc_arena_strdup(a, model);
    const char *path = oc_arena_printf(a, "%s/%s", dirname(copy), names[i]);

    files[i].name = names[i];
    files[i].data = path ? map_file(path, &files[i].len) : NULL;
  }
  *ret_n = n;
  return files;
}

static bool parse_dims(struct oc_arena *a, const char *text, struct oc_shape *ret)
{
  int64_t dims[32];
  size_t n = 0;
  struct oc_str rest = oc_str_of(text);

  if (strcmp(text, "-") == 0) {
    *ret = oc_shape_scalar();
    return true;
  }
  while (rest.len > 0 && n < 32) {
    const char *comma = memchr(rest.p, ',', rest.len);
    struct oc_str one = { rest.p, comma ? (size_t)(comma - rest.p) : rest.len };

    if (!oc_str_to_i64(one, &dims[n++]))
      return false;
    rest.p += one.len + (comma != NULL);
    rest.len -= one.len + (comma != NULL);
  }
  *ret = oc_shape_of(a, dims, n);
  return true;
}

static bool feed_line(struct oc_graph *g, char *line)
{
  char *save = NULL;
  const char *name = strtok_r(line, "\t", &save);
  const char *dtype = strtok_r(NULL, "\t", &save);
  const char *dims = strtok_r(NULL, "\t", &save);
  const char *hex = strtok_r(NULL, "\t", &save);
  struct oc_op *op = name ? oc_graph_find(g, name) : NULL;
  struct oc_value *v = OC_NEW(g->arena, struct oc_value);

  if (!name || !dtype || !dims || !v)
    return false;
  if (!op || !oc_op_is(op, "Data"))
    return true; /* an input that the graph does not have */

  size_t len = hex ? strlen(hex) / 2 : 0;
  uint8_t *data = oc_arena_alloc(g->arena, len + 1);

  if (!data || !oc_dtype_parse(oc_str_of(dtype), &v->dtype) ||
      !parse_dims(g->arena, dims, &v->shape) || (len > 0 && !oc_unhex(hex, data, len)))
    return false;
  v->data = data;
  v->len = len;
  op->outputs[0].t.shape = v->shape;
  op->outputs[0].t.value = v;
  return true;
}

static bool feed(struct oc_graph *g, const char *path)
{
  auto_free char *text = read_text(path);
  char *save = NULL;

  if (!text || strlen(text) > MOST_FEED)
    return false;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
    if (!feed_line(g, line))
      return false;
  return true;
}

static void put_dims(struct oc_json_writer *w, struct oc_shape s)
{
  if (!s.known_rank) {
    oc_json_put_null(w, "dims");
    return;
  }
  oc_json_begin_array(w, "dims");
  for (uint32_t i = 0; i < s.rank; i++) {
    if (s.dims[i] >= 0)
      oc_json_put_i64(w, NULL, s.dims[i]);
    else
      oc_json_put_null(w, NULL);
  }
  oc_json_end_array(w);
}

/* The bytes of a value that was followed, when it is small and not floating point. */
static void put_integers(struct oc_json_writer *w, const struct oc_value *v)
{
  char hex[2 * 4096 + 1];

  if (!v || v->len > 4096 || oc_dtype_is_float(v->dtype))
    return;
  oc_hex(v->data, v->len, hex);
  oc_json_put_string(w, "hex", hex);
}

static void put_outputs(struct oc_json_writer *w, const struct oc_graph *g)
{
  oc_json_begin_array(w, "outputs");
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *end = g->ops[i];
    const struct oc_attr *names = oc_attr_find(end, OC_ATTR_OUTPUT_NAMES);

    for (uint32_t k = 0; oc_op_is(end, "NetOutput") && k < end->n_inputs; k++) {
      const struct oc_op *from = end->inputs[k].from;

      oc_json_begin_object(w, NULL);
      if (names && k < names->n)
        oc_json_put_str(w, "name", names->u.strings[k]);
      oc_json_put_string(w, "op", from ? from->name : NULL);
      oc_json_put_string(w, "type", from ? from->type : NULL);
      oc_json_put_string(w, "dtype", oc_dtype_name(end->inputs[k].t.dtype));
      put_dims(w, end->inputs[k].t.shape);
      put_integers(w, from ? oc_op_input_value(end, k) : NULL);
      oc_json_end_object(w);
    }
  }
  oc_json_end_array(w);
}

static void put_graph(struct oc_json_writer *w, const struct oc_graph *g)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];

    for (uint32_t k = 0; k < op->n_outputs; k++) {
      oc_json_begin_object(w, NULL);
      oc_json_put_string(w, "op", op->name);
      oc_json_put_string(w, "type", op->type);
      oc_json_put_u64(w, "out", k);
      oc_json_put_string(w, "dtype", oc_dtype_name(op->outputs[k].t.dtype));
      put_dims(w, op->outputs[k].t.shape);
      put_integers(w, op->outputs[k].t.value);
      oc_json_end_object(w);
    }
  }
}

/* Root and sub-graphs, breadth first. */
static void put_tensors(struct oc_json_writer *w, const struct oc_graph *root)
{
  const struct oc_graph *list[4096];
  size_t n = 0;

  list[n++] = root;
  oc_json_begin_array(w, "tensors");
  for (size_t at = 0; at < n; at++) {
    put_graph(w, list[at]);
    for (uint32_t i = 0; i < list[at]->n_ops; i++)
      for (uint32_t s = 0; s < list[at]->ops[i]->n_subgraphs && n < OC_COUNT(list); s++)
        list[n++] = list[at]->ops[i]->subgraphs[s].graph;
  }
  oc_json_end_array(w);
}

static void put_findings(struct oc_json_writer *w, const struct oc_findings *fs)
{
  oc_json_begin_array(w, "findings");
  for (size_t i = 0; i < fs->n; i++) {
    const struct oc_finding_info *info = oc_finding_info(fs->items[i].id);
    struct oc_buf text;

    oc_buf_init(&text, 1u << 20);
    (void)oc_finding_format(info->text, &fs->items[i], &text);
    oc_json_begin_object(w, NULL);
    oc_json_put_string(w, "id", info->id);
    oc_json_put_string(w, "severity", oc_severity_name(fs->items[i].severity));
    oc_json_put_string(w, "text", oc_buf_str(&text));
    oc_json_end_object(w);
    oc_buf_clear(&text);
  }
  oc_json_end_array(w);
}

static int run_passes(struct oc_graph *g, enum oc_stage stage, struct oc_findings *fs,
                      struct oc_error *err)
{
  struct oc_pass_options o = { .on = ~0u };

  return oc_passes_run(g, stage, NULL, NULL, &o, NULL, fs, err);
}

/* Inference, with the passes around it when they are asked for. */
static int infer_graph(struct oc_graph *g, const struct settings *set,
                       struct oc_findings *fs, struct oc_error *err)
{
  struct oc_infer_options o = { .input_shape = set->input_shape };
  int rc = set->passes ? run_passes(g, OC_STAGE_PARSED, fs, err) : 0;

  if (rc >= 0)
    rc = oc_infer(g, &o, fs, NULL, err);
  if (rc >= 0 && set->passes)
    rc = run_passes(g, OC_STAGE_INFERRED, fs, err);
  if (rc >= 0 && set->passes)
    rc = oc_infer_again(g, NULL, err);
  return rc < 0 ? rc : 0;
}

static void run_model(const char *path, const struct settings *set,
                      struct oc_json_writer *w)
{
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_graph *g = NULL;
  struct oc_error err = { 0 };
  struct oc_import_options import = { .out_nodes = set->tensors };

  oc_arena_init(&arena, 0);
  oc_findings_init(&findings, &arena);
  import.model = map_file(path, &import.model_len);
  oc_json_begin_object(w, NULL);
  oc_json_put_string(w, "file", path);

  int rc = import.model ? 0 : OC_E_IO;

  if (rc == 0) {
    import.files = external_files(path, &import, &arena, &findings, &import.n_files);
    rc = oc_import_onnx(&import, &arena, &g, &findings, &err);
  }
  if (rc == 0 && set->feed && !feed(g, set->feed))
    rc = oc_error_set(&err, OC_E_ARG, "cannot use the values of '%s'", set->feed);
  if (rc == 0)
    rc = infer_graph(g, set, &findings, &err);
  oc_json_put_bool(w, "ok", rc == 0);
  if (rc != 0)
    oc_json_put_string(w, "error", err.msg);
  if (rc == 0)
    put_outputs(w, g);
  if (rc == 0 && set->all)
    put_tensors(w, g);
  put_findings(w, &findings);
  oc_json_end_object(w);
  if (import.model)
    (void)munmap((void *)import.model, import.model_len);
  oc_arena_clear(&arena);
}

int main(int argc, char **argv)
{
  struct settings set = { 0 };
  auto_free char *tensors = NULL;
  int i = 1;

  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (strcmp(argv[i], "--tensors") == 0)
      set.tensors = tensors = read_text(argv[i + 1]);
    else if (strcmp(argv[i], "--input_shape") == 0)
      set.input_shape = argv[i + 1];
    else if (strcmp(argv[i], "--feed") == 0)
      set.feed = argv[i + 1];
    else if (strcmp(argv[i], "--all") == 0)
      set.all = strcmp(argv[i + 1], "yes") == 0;
    else if (strcmp(argv[i], "--passes") == 0)
      set.passes = strcmp(argv[i + 1], "yes") == 0;
    else
      break;
  }
  if (i >= argc) {
    fprintf(
        stderr,
        "usage: infer_models [--all yes] [--passes yes] [--tensors FILE] [--input_shape "
        "TEXT] [--feed FILE] "
        "MODEL...\n");
    return 2;
  }
  for (; i < argc; i++) {
    struct oc_buf out;
    struct oc_json_writer w;

    oc_buf_init(&out, MOST_OUTPUT);
    oc_json_writer_init(&w, &out, false);
    run_model(argv[i], &set, &w);
    puts(oc_buf_str(&out));
    fflush(stdout);
    oc_buf_clear(&out);
  }
  return 0;
}
