/* Turns the register of findings into C and into a page.
 *
 *   oc_findings_gen findings.yaml finding_ids.h finding_table.c [findings.md]
 *
 * The ids become an enum in the register's order; texts and fixes become one table. What
 * a reader of the register would stumble over is refused here: a missing or unknown
 * field, an id used twice, a text that ends with a full stop. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum field {
  F_ID,
  F_SEVERITY,
  F_CODE,
  F_TEXT,
  F_TEXT_ZH,
  F_FIX,
  F_FIX_ZH,
  F_EXAMPLE,
  N_FIELDS
};

static const char *const field_names[N_FIELDS] = { "id",     "severity", "code",
                                                   "text",   "text_zh",  "fix",
                                                   "fix_zh", "example" };

struct entry {
  const char *fields[N_FIELDS]; /* owned by the YAML document; "" when absent */
  size_t line;
};

struct reg {
  yaml_document_t doc;
  struct entry *entries;
  size_t n;
};

static int complain(size_t line, const char *what, const char *subject)
{
  fprintf(stderr, "findings.yaml:%zu: %s '%s'\n", line, what, subject);
  return -1;
}

static const char *scalar(const yaml_node_t *n)
{
  return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static bool id_ok(const char *id)
{
  return id[0] >= 'a' && id[0] <= 'z' &&
         strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id);
}

static bool severity_ok(const char *s)
{
  return !strcmp(s, "note") || !strcmp(s, "warning") || !strcmp(s, "error");
}

static int check_entry(const struct reg *r, const struct entry *e)
{
  const char *text = e->fields[F_TEXT];
  const char *fix = e->fields[F_FIX];

  if (!id_ok(e->fields[F_ID]))
    return complain(e->line, "not an id:", e->fields[F_ID]);
  for (size_t i = 0; i < r->n; i++) {
    if (!strcmp(r->entries[i].fields[F_ID], e->fields[F_ID]))
      return complain(e->line, "id used twice:", e->fields[F_ID]);
  }
  if (!severity_ok(e->fields[F_SEVERITY]))
    return complain(e->line, "not a severity:", e->fields[F_SEVERITY]);
  if (!text[0] || text[strlen(text) - 1] == '.')
    return complain(e->line, "text is empty or ends with a full stop:", text);
  if (fix[0] && fix[strlen(fix) - 1] == '.')
    return complain(e->line, "fix ends with a full stop:", fix);
  if (!e->fields[F_EXAMPLE][0])
    return complain(e->line, "no example for", e->fields[F_ID]);
  return 0;
}

static int read_entry(struct reg *r, yaml_node_t *map, struct entry *ret)
{
  struct entry e = { .line = map->start_mark.line + 1 };

  for (size_t f = 0; f < N_FIELDS; f++)
    e.fields[f] = "";
  if (map->type != YAML_MAPPING_NODE)
    return complain(e.line, "an entry must be a mapping,", "id: ...");
  for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
       p < map->data.mapping.pairs.top; p++) {
    const yaml_node_t *key_node = yaml_document_get_node(&r->doc, p->key);
    const char *key = scalar(key_node);
    const char *value = scalar(yaml_document_get_node(&r->doc, p->value));
    size_t f = 0;
    while (key && f < N_FIELDS && strcmp(key, field_names[f]) != 0)
      f++;
    if (!key || !value || f == N_FIELDS)
      return complain(key_node->start_mark.line + 1, "unknown or bad field",
                      key ? key : "?");
    e.fields[f] = value;
  }
  *ret = e;
  return check_entry(r, &e);
}

static yaml_node_t *find_list(struct reg *r)
{
  yaml_node_t *root = yaml_document_get_root_node(&r->doc);

  if (!root || root->type != YAML_MAPPING_NODE)
    return NULL;
  for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
       p < root->data.mapping.pairs.top; p++) {
    const char *key = scalar(yaml_document_get_node(&r->doc, p->key));
    if (key && !strcmp(key, "findings"))
      return yaml_document_get_node(&r->doc, p->value);
  }
  return NULL;
}

static int read_entries(struct reg *r)
{
  yaml_node_t *list = find_list(r);

  if (!list || list->type != YAML_SEQUENCE_NODE)
    return complain(1, "no list", "findings");
  size_t n = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
  r->entries = calloc(n ? n : 1, sizeof(*r->entries));
  if (!r->entries)
    return complain(1, "no memory for", "findings");
  for (size_t i = 0; i < n; i++) {
    yaml_node_t *map =
        yaml_document_get_node(&r->doc, list->data.sequence.items.start[i]);
    if (read_entry(r, map, &r->entries[i]) < 0)
      return -1;
    r->n = i + 1;
  }
  return r->n ? 0 : complain(1, "the register is empty:", "findings");
}

static int load(struct reg *r, const char *path)
{
  yaml_parser_t parser;
  FILE *f = fopen(path, "re");

  if (!f || !yaml_parser_initialize(&parser)) {
    fprintf(stderr, "cannot open '%s'\n", path);
    return -1;
  }
  yaml_parser_set_input_file(&parser, f);
  int ok = yaml_parser_load(&parser, &r->doc);
  if (!ok)
    complain(parser.problem_mark.line + 1,
             "cannot read the register:", parser.problem ? parser.problem : "?");
  yaml_parser_delete(&parser);
  fclose(f);
  return ok ? read_entries(r) : -1;
}

static void put_id(FILE *f, const char *id)
{
  fputs("OC_FINDING_", f);
  for (; *id; id++)
    fputc(*id == '-' ? '_' : *id >= 'a' && *id <= 'z' ? *id - 'a' + 'A' : *id, f);
}

static void put_literal(FILE *f, const char *s)
{
  fputc('"', f);
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      fprintf(f, "\\%c", c);
    else if (c < 0x20 || c >= 0x7f)
      fprintf(f, "\\%03o", c);
    else
      fputc(c, f);
  }
  fputc('"', f);
}

static void write_ids(const struct reg *r, FILE *f)
{
  fputs("/* Made from schema/findings.yaml. */\n#ifndef OC_BASE_FINDING_IDS_H\n"
        "#define OC_BASE_FINDING_IDS_H\n\nenum oc_finding_id {\n",
        f);
  for (size_t i = 0; i < r->n; i++) {
    fputs("  ", f);
    put_id(f, r->entries[i].fields[F_ID]);
    fputs(",\n", f);
  }
  fputs("  OC_FINDING_COUNT\n};\n\n#endif\n", f);
}

static void write_table(const struct reg *r, FILE *f)
{
  static const enum field texts[] = { F_CODE, F_TEXT, F_FIX, F_TEXT_ZH, F_FIX_ZH };

  fputs("/* Made from schema/findings.yaml. */\n#include \"base/finding_internal.h\"\n\n"
        "const struct oc_finding_info oc_finding_table[] = {\n",
        f);
  for (size_t i = 0; i < r->n; i++) {
    const struct entry *e = &r->entries[i];
    const char *severity = e->fields[F_SEVERITY];
    fputs("  { ", f);
    put_literal(f, e->fields[F_ID]);
    fprintf(f, ", OC_SEV_%s",
            severity[0] == 'n'   ? "NOTE"
            : severity[0] == 'w' ? "WARNING"
                                 : "ERROR");
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
      fputs(", ", f);
      put_literal(f, e->fields[texts[t]]);
    }
    fputs(" },\n", f);
  }
  fputs("};\n", f);
}

static void write_page(const struct reg *r, FILE *f)
{
  fputs("# Findings\n\nEverything omcc tells about a request has one of these ids. They "
        "are "
        "stable: scripts may\nuse them. This page is made from `schema/findings.yaml`.\n",
        f);
  for (size_t i = 0; i < r->n; i++) {
    char *const *v = (char *const *)r->entries[i].fields;
    fprintf(f, "\n## %s\n\n%s", v[F_ID], v[F_SEVERITY]);
    if (v[F_CODE][0])
      fprintf(f, ", the vendor's code is %s", v[F_CODE]);
    fprintf(f, "\n\n> %s\n", v[F_EXAMPLE]);
    if (v[F_FIX][0])
      fprintf(f, "\nFix: %s\n", v[F_FIX]);
    if (v[F_TEXT_ZH][0])
      fprintf(f, "\n> %s\n", v[F_TEXT_ZH]);
    if (v[F_FIX_ZH][0])
      fprintf(f, "\n处理：%s\n", v[F_FIX_ZH]);
  }
}

static int write_file(const struct reg *r, const char *path,
                      void (*write)(const struct reg *, FILE *))
{
  FILE *f = fopen(path, "we");

  if (!f) {
    fprintf(stderr, "cannot write '%s'\n", path);
    return -1;
  }
  write(r, f);
  return fclose(f) ? -1 : 0;
}

int main(int argc, char **argv)
{
  struct reg r = { 0 };

  if (argc != 4 && argc != 5) {
    fprintf(stderr, "use: %s findings.yaml finding_ids.h finding_table.c [findings.md]\n",
            argv[0]);
    return 2;
  }
  if (load(&r, argv[1]) < 0)
    return 1;
  int rc = write_file(&r, argv[2], write_ids);
  if (rc == 0)
    rc = write_file(&r, argv[3], write_table);
  if (rc == 0 && argc == 5)
    rc = write_file(&r, argv[4], write_page);
  yaml_document_delete(&r.doc);
  free(r.entries);
  return rc < 0;
}
