/* import_models FILE...: imports ONNX files and says what came of it.
 *
 * One line per file (ops, findings), the findings below it, and at the end a table per
 * operator: how many nodes there were and how many became IR ops, were refused or are not
 * known. External data is read beside the model. Exit status 0 when no file made the
 * importer fail in a way that is not a finding. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "import/import.h"
#include "import/onnx/build.h"

struct mapped {
  uint8_t *data;
  size_t len;
};

struct row {
  const char *type;
  unsigned long nodes, refused, unknown;
};

struct table {
  struct oc_map rows;
  struct oc_arena arena;
  unsigned long files, imported, with_errors;
};

static bool map_file(const char *path, struct mapped *ret)
{
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) < 0)
    return false;
  ret->len = (size_t)st.st_size;
  ret->data = (uint8_t *)"";
  if (ret->len == 0)
    return true;
  ret->data = mmap(NULL, ret->len, PROT_READ, MAP_PRIVATE, fd, 0);
  return ret->data != MAP_FAILED;
}

static void unmap(struct mapped *m)
{
  if (m->len)
    (void)munmap(m->data, m->len);
}

/* Opens what the model names, beside the model; what is missing stays out. */
static size_t map_external(const char *model, const char *const *names, size_t n,
                           struct mapped *maps, struct oc_import_file *files,
                           struct oc_arena *arena)
{
  const char *slash = strrchr(model, '/');
  size_t there = 0;
  for (size_t i = 0; i < n; i++) {
    const char *path = oc_arena_printf(
        arena, "%.*s%s", slash ? (int)(slash - model) + 1 : 0, model, names[i]);
    if (!path || strstr(names[i], "..") || !map_file(path, &maps[there]))
      continue;
    files[there].name = names[i];
    files[there].data = maps[there].data;
    files[there].len = maps[there].len;
    there++;
  }
  return there;
}

static void print_findings(const struct oc_findings *fs)
{
  for (size_t i = 0; i < fs->n; i++) {
    const struct oc_finding *f = &fs->items[i];
    const struct oc_finding_info *info = oc_finding_info(f->id);
    struct oc_buf text;
    oc_buf_init(&text, 1u << 16);
    (void)oc_finding_format(info->text, f, &text);
    printf("    %s %s: %s\n", oc_severity_name(f->severity), info->id, oc_buf_str(&text));
    oc_buf_clear(&text);
  }
}

static struct row *row_of(struct table *t, const char *type)
{
  struct row *r = oc_map_gets(&t->rows, type);
  if (r)
    return r;
  r = OC_NEW(&t->arena, struct row);
  const char *key = oc_arena_strdup(&t->arena, type);
  if (!r || !key || oc_map_puts(&t->rows, key, r))
    return NULL;
  r->type = key;
  return r;
}

static const char *arg_of(const struct oc_finding *f, const char *name)
{
  for (size_t i = 0; i < f->n_args; i++)
    if (strcmp(f->args[i].name, name) == 0)
      return f->args[i].value;
  return "";
}

/* Nodes by operator, from the model itself. */
static void count_nodes(struct table *t, const struct mapped *m, struct oc_arena *arena)
{
  struct oc_findings quiet;
  struct onnx_model *model = NULL;
  oc_findings_init(&quiet, arena);
  struct import_reader rd = {
    .base = m->data, .len = m->len, .arena = arena, .findings = &quiet
  };
  if (onnx_read_model(&rd, &model))
    return;
  for (const struct onnx_graph *g = model->graph; g; g = g->next_graph)
    for (const struct onnx_node *n = g->nodes; n; n = n->next) {
      struct row *r = row_of(t, n->op_type);
      if (r)
        r->nodes++;
    }
}

static void count_findings(struct table *t, const struct oc_findings *fs)
{
  for (size_t i = 0; i < fs->n; i++) {
    const struct oc_finding *f = &fs->items[i];
    struct row *r = NULL;
    if (f->id == OC_FINDING_NODE_REFUSED && (r = row_of(t, arg_of(f, "type"))))
      r->refused++;
    else if ((f->id == OC_FINDING_OP_UNKNOWN || f->id == OC_FINDING_OP_OPSET) &&
             (r = row_of(t, f->subject)))
      r->unknown++;
  }
}

static unsigned long count_ops(const struct oc_graph *root)
{
  unsigned long n = root->n_ops;
  /* Sub-graphs nest; an explicit list of graphs to look at. */
  const struct oc_graph *todo[256];
  size_t n_todo = 0;
  todo[n_todo++] = root;
  while (n_todo) {
    const struct oc_graph *g = todo[--n_todo];
    for (uint32_t i = 0; i < g->n_ops; i++)
      for (uint32_t k = 0; k < g->ops[i]->n_subgraphs && n_todo < 256; k++) {
        todo[n_todo++] = g->ops[i]->subgraphs[k].graph;
        n += g->ops[i]->subgraphs[k].graph->n_ops;
      }
  }
  return n;
}

static void print_ops(const struct oc_graph *g)
{
  for (uint32_t i = 0; i < g->n_ops; i++) {
    const struct oc_op *op = g->ops[i];
    printf("      %-20s %-40s (", op->type, op->name);
    for (uint32_t k = 0; k < op->n_inputs; k++)
      printf("%s%s=%s:%u", k ? ", " : "", op->inputs[k].t.name,
             op->inputs[k].from ? op->inputs[k].from->name : "-",
             (unsigned)op->inputs[k].from_out);
    printf(")\n");
  }
}

static bool import_one(const char *path, struct table *t, bool verbose)
{
  struct oc_arena arena;
  struct oc_findings fs;
  struct oc_error err = { 0 };
  struct mapped model, ext[64];
  struct oc_import_file files[64];
  const char *const *names = NULL;
  size_t n_names = 0, n_files = 0;
  struct oc_graph *g = NULL;
  if (!map_file(path, &model)) {
    printf("%s: %s\n", path, strerror(errno));
    return false;
  }
  oc_arena_init(&arena, 0);
  oc_findings_init(&fs, &arena);
  int rc = oc_import_external(model.data, model.len, &arena, &names, &n_names, &fs, &err);
  if (!rc) {
    n_files = map_external(path, names, n_names < 64 ? n_names : 64, ext, files, &arena);
    struct oc_import_options opt = {
      .model = model.data, .model_len = model.len, .files = files, .n_files = n_files
    };
    rc = oc_import_onnx(&opt, &arena, &g, &fs, &err);
  }
  printf("%s: %s, %lu ops, %zu errors, %zu warnings, %zu KiB\n", path,
         rc ? err.msg : "imported", g ? count_ops(g) : 0,
         oc_findings_count(&fs, OC_SEV_ERROR),
         oc_findings_count(&fs, OC_SEV_WARNING) - oc_findings_count(&fs, OC_SEV_ERROR),
         arena.used / 1024);
  print_findings(&fs);
  if (g && verbose)
    print_ops(g);
  t->files++;
  t->imported += rc == 0;
  t->with_errors += oc_findings_have_errors(&fs);
  count_nodes(t, &model, &arena);
  count_findings(t, &fs);
  bool honest = rc == OC_OK || oc_findings_have_errors(&fs) || rc == OC_E_NOMEM;
  oc_arena_clear(&arena);
  for (size_t i = 0; i < n_files; i++)
    unmap(&ext[i]);
  unmap(&model);
  return honest;
}

static void print_table(const struct table *t)
{
  printf("\n%-28s %8s %8s %8s\n", "operator", "nodes", "refused", "unknown");
  for (size_t i = 0; i < t->rows.n; i++) {
    const struct row *r = t->rows.entries[i].value;
    printf("%-28s %8lu %8lu %8lu\n", r->type, r->nodes, r->refused, r->unknown);
  }
  printf("\n%lu files, %lu imported, %lu with errors\n", t->files, t->imported,
         t->with_errors);
}

int main(int argc, char **argv)
{
  struct table t = { 0 };
  bool good = true;
  bool verbose = argc > 1 && strcmp(argv[1], "--ops") == 0;
  oc_arena_init(&t.arena, 0);
  for (int i = verbose ? 2 : 1; i < argc; i++)
    good = import_one(argv[i], &t, verbose) && good;
  print_table(&t);
  oc_map_clear(&t.rows);
  oc_arena_clear(&t.arena);
  return good ? 0 : 1;
}
