/* Settings files: a YAML mapping of keys to scalars, nothing else.
 *
 * Read by events, not by documents, so that no nesting is ever built: anything but a
 * scalar behind a key is an error with its line. A key given twice is an error too,
 * because one of the two lines would silently do nothing. */
#include "config/config.h"
#include "config/config_internal.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

/* A settings file of more than this is something else. */
#define MAX_FILE (256u << 10)

struct reader {
  yaml_parser_t yaml;
  struct oc_config *config;
  const char *name;
  char *key; /* waits for its value */
  bool seen[OC_CONFIG_N_KEYS];
};

static int syntax_error(struct reader *r, struct oc_error *err)
{
  return oc_error_set(err, OC_E_FORMAT, "%s:%zu: %s", r->name,
                      r->yaml.problem_mark.line + 1,
                      r->yaml.problem ? r->yaml.problem : "not YAML");
}

static int take_key(struct reader *r, const char *text, size_t line, struct oc_error *err)
{
  size_t index;

  if (oc_config_key_find(text, &index)) {
    if (r->seen[index])
      return oc_error_set(err, OC_E_FORMAT, "%s:%zu: setting '%s' is given twice",
                          r->name, line, text);
    r->seen[index] = true;
  }
  r->key = strdup(text);
  return r->key ? 0 : oc_error_set(err, OC_E_NOMEM, "no memory for settings");
}

static int take_scalar(struct reader *r, const yaml_event_t *e, struct oc_error *err)
{
  const char *text = (const char *)e->data.scalar.value;
  size_t line = e->start_mark.line + 1;
  char origin[512];
  int rc;

  if (e->data.scalar.length != strlen(text))
    return oc_error_set(err, OC_E_FORMAT, "%s:%zu: a value has a NUL byte", r->name,
                        line);
  if (!r->key)
    return take_key(r, text, line, err);
  snprintf(origin, sizeof(origin), "%s:%zu", r->name, line);
  rc = oc_config_set(r->config, r->key, text, origin, err);
  free(OC_STEAL(r->key));
  return rc;
}

/* One event. 1: go on, 0: the end, negative: failed. */
static int take_event(struct reader *r, const yaml_event_t *e, unsigned *depth,
                      struct oc_error *err)
{
  size_t line = e->start_mark.line + 1;

  switch (e->type) {
  case YAML_STREAM_END_EVENT: return 0;
  case YAML_MAPPING_START_EVENT:
    if ((*depth)++)
      return oc_error_set(err, OC_E_FORMAT, "%s:%zu: setting '%s' must be a single value",
                          r->name, line, r->key ? r->key : "");
    return 1;
  case YAML_MAPPING_END_EVENT: (*depth)--; return 1;
  case YAML_SCALAR_EVENT: {
    int rc;

    if (!*depth && e->data.scalar.length == 0)
      return 1; /* a file of comments only */
    if (!*depth)
      return oc_error_set(err, OC_E_FORMAT, "%s:%zu: 'key: value' lines are expected",
                          r->name, line);
    rc = take_scalar(r, e, err);
    return rc ? rc : 1;
  }
  case YAML_SEQUENCE_START_EVENT:
  case YAML_ALIAS_EVENT:
    return oc_error_set(err, OC_E_FORMAT, "%s:%zu: lists and aliases are not settings",
                        r->name, line);
  default: return 1;
  }
}

int oc_config_read(struct oc_config *c, const char *text, size_t len, const char *name,
                   struct oc_error *err)
{
  struct reader r = { .config = c, .name = name };
  unsigned depth = 0;
  int rc = 1;

  if (!yaml_parser_initialize(&r.yaml))
    return oc_error_set(err, OC_E_NOMEM, "no memory for settings");
  yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
  while (rc > 0) {
    yaml_event_t e;

    if (!yaml_parser_parse(&r.yaml, &e)) {
      rc = syntax_error(&r, err);
      break;
    }
    rc = take_event(&r, &e, &depth, err);
    yaml_event_delete(&e);
  }
  free(r.key);
  yaml_parser_delete(&r.yaml);
  return rc;
}

int oc_config_load(struct oc_config *c, const char *path, bool optional,
                   struct oc_error *err)
{
  auto_fclose FILE *f = fopen(path, "re");
  auto_free char *text = NULL;
  size_t len;

  if (!f && optional && (errno == ENOENT || errno == ENOTDIR))
    return 0;
  if (!f)
    return oc_error_errno(err, OC_E_IO, "cannot open settings '%s'", path);
  text = malloc(MAX_FILE + 1);
  if (!text)
    return oc_error_set(err, OC_E_NOMEM, "no memory for settings");
  len = fread(text, 1, MAX_FILE + 1, f);
  if (ferror(f))
    return oc_error_errno(err, OC_E_IO, "cannot read settings '%s'", path);
  if (len > MAX_FILE)
    return oc_error_set(err, OC_E_LIMIT, "settings '%s' are larger than 256 KiB", path);
  return oc_config_read(c, text, len, path, err);
}
