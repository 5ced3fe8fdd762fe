/* Makes config_fields.h and config_table.c from schema/config.yaml.
 *
 * Run by the build: config_gen SCHEMA FIELDS.h TABLE.c. A key becomes a field of struct
 * oc_config_values and a row of the table; the schema's own text goes along as a string,
 * for `omccd --print-config`. Any mistake in the schema ends the build with its line. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum field { NAME, TYPE, DEFAULT, CHOICES, MIN, MAX, DOC, N_FIELDS };
static const char *const field_names[N_FIELDS] = { "name", "type", "default", "choices",
                                                   "min",  "max",  "doc" };
struct key {
  char *text[N_FIELDS];
};

static const struct {
  const char *name, *constant, *field_type;
} types[] = {
  { "string", "OC_CONFIG_STRING", "const char *" },
  { "path", "OC_CONFIG_PATH", "const char *" },
  { "choice", "OC_CONFIG_CHOICE", "const char *" },
  { "bool", "OC_CONFIG_BOOL", "bool " },
  { "count", "OC_CONFIG_COUNT", "uint64_t " },
  { "size", "OC_CONFIG_SIZE", "uint64_t " },
  { "time", "OC_CONFIG_TIME", "uint64_t " },
  { "mode", "OC_CONFIG_MODE", "uint64_t " },
};

static _Noreturn void stop(const char *what, size_t line)
{
  fprintf(stderr, "config_gen: line %zu: %s\n", line, what);
  exit(1);
}

static char *scalar(yaml_document_t *doc, int index)
{
  yaml_node_t *n = yaml_document_get_node(doc, index);
  char *s;

  if (!n || n->type != YAML_SCALAR_NODE)
    stop("a scalar is expected", n ? n->start_mark.line + 1 : 0);
  s = strdup((const char *)n->data.scalar.value);
  if (!s)
    stop("no memory", 0);
  return s;
}

static size_t type_of(const struct key *k)
{
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (!strcmp(k->text[TYPE], types[i].name))
      return i;
  stop("unknown type", 0);
}

static struct key read_key(yaml_document_t *doc, yaml_node_t *map)
{
  struct key k = { { NULL } };

  if (map->type != YAML_MAPPING_NODE)
    stop("a mapping is expected", map->start_mark.line + 1);
  for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
       p < map->data.mapping.pairs.top; p++) {
    char *word = scalar(doc, p->key);
    size_t f = 0;

    while (f < N_FIELDS && strcmp(word, field_names[f]))
      f++;
    if (f == N_FIELDS)
      stop("unknown field", map->start_mark.line + 1);
    free(word);
    k.text[f] = scalar(doc, p->value);
  }
  if (!k.text[NAME] || !k.text[TYPE] || !k.text[DEFAULT] || !k.text[DOC])
    stop("name, type, default and doc are needed", map->start_mark.line + 1);
  type_of(&k);
  return k;
}

static void put_string(FILE *out, const char *s)
{
  fputc('"', out);
  for (; s && *s; s++) {
    if (*s == '"' || *s == '\\')
      fputc('\\', out);
    if (*s == '\n')
      fputs("\\n\"\n  \"", out);
    else
      fputc(*s, out);
  }
  fputc('"', out);
}

static void write_fields(FILE *out, const struct key *keys, size_t n)
{
  fputs("/* Generated from schema/config.yaml. */\n#ifndef OC_CONFIG_FIELDS_H\n"
        "#define OC_CONFIG_FIELDS_H\n#include <stdbool.h>\n#include <stdint.h>\n"
        "struct oc_config_values {\n",
        out);
  for (size_t i = 0; i < n; i++)
    fprintf(out, "  %s%s; /* %s */\n", types[type_of(&keys[i])].field_type,
            keys[i].text[NAME], keys[i].text[DOC]);
  fprintf(out, "};\n#define OC_CONFIG_N_KEYS %zu\n#endif\n", n);
}

static void write_table(FILE *out, const struct key *keys, size_t n, const char *schema)
{
  fputs("/* Generated from schema/config.yaml. */\n#include <stddef.h>\n"
        "#include \"config/config.h\"\n"
        "#include \"config/config_internal.h\"\n"
        "const struct oc_config_key oc_config_keys[OC_CONFIG_N_KEYS] = {\n",
        out);
  for (size_t i = 0; i < n; i++) {
    fprintf(out, "  { \"%s\", %s, ", keys[i].text[NAME],
            types[type_of(&keys[i])].constant);
    for (int f = DEFAULT; f < N_FIELDS; f++) {
      put_string(out, keys[i].text[f]);
      fputs(", ", out);
    }
    fprintf(out, "offsetof(struct oc_config_values, %s) },\n", keys[i].text[NAME]);
  }
  fputs("};\nconst char oc_config_schema[] =\n  ", out);
  put_string(out, schema);
  fputs(";\n", out);
}

static char *read_all(const char *path, size_t *ret_len)
{
  FILE *f = fopen(path, "re");
  size_t room = 1 << 20;
  char *text = calloc(1, room);

  if (!f || !text)
    stop("cannot read the schema", 0);
  *ret_len = fread(text, 1, room - 1, f);
  if (!feof(f))
    stop("the schema is too large", 0);
  fclose(f);
  return text;
}

static FILE *create(const char *path)
{
  FILE *f = fopen(path, "we");

  if (!f)
    stop("cannot write the output", 0);
  return f;
}

static struct key *read_keys(yaml_document_t *doc, size_t *ret_n)
{
  yaml_node_t *root = yaml_document_get_root_node(doc);
  yaml_node_t *list;
  struct key *keys;
  size_t n;

  if (!root || root->type != YAML_MAPPING_NODE)
    stop("a mapping with 'keys' is expected", 1);
  list = yaml_document_get_node(doc, root->data.mapping.pairs.start->value);
  if (!list || list->type != YAML_SEQUENCE_NODE)
    stop("'keys' must be a list", 1);
  n = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
  keys = calloc(n ? n : 1, sizeof(*keys));
  if (!keys)
    stop("no memory", 0);
  for (size_t i = 0; i < n; i++)
    keys[i] =
        read_key(doc, yaml_document_get_node(doc, list->data.sequence.items.start[i]));
  *ret_n = n;
  return keys;
}

int main(int argc, char **argv)
{
  yaml_parser_t parser;
  yaml_document_t doc;
  struct key *keys;
  size_t n, len;
  char *schema;
  FILE *fields, *table;

  if (argc != 4)
    stop("usage: config_gen SCHEMA FIELDS.h TABLE.c", 0);
  schema = read_all(argv[1], &len);
  yaml_parser_initialize(&parser);
  yaml_parser_set_input_string(&parser, (const unsigned char *)schema, len);
  if (!yaml_parser_load(&parser, &doc))
    stop(parser.problem, parser.problem_mark.line + 1);
  keys = read_keys(&doc, &n);
  fields = create(argv[2]);
  table = create(argv[3]);
  write_fields(fields, keys, n);
  write_table(table, keys, n, schema);
  for (size_t i = 0; i < n; i++)
    for (int f = 0; f < N_FIELDS; f++)
      free(keys[i].text[f]);
  free(keys);
  free(schema);
  yaml_document_delete(&doc);
  yaml_parser_delete(&parser);
  return fclose(fields) || fclose(table);
}
