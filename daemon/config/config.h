/* The daemon's settings.
 *
 * schema/config.yaml documents every key with type, default and limits; the build makes
 * the fields and the table from it, so a key cannot exist in one place only. Values come
 * from the built-in default, the system file, the user's file, the environment and the
 * command line, later ones win; each value remembers where it came from.
 *
 * Ownership: init/clear; strings belong to the struct. Sizes are bytes, times
 * milliseconds. */
#ifndef OC_CONFIG_CONFIG_H
#define OC_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#include "config/config_fields.h" /* generated: struct oc_config_values, OC_CONFIG_N_KEYS */

enum oc_config_type {
  OC_CONFIG_STRING,
  OC_CONFIG_PATH,   /* absolute, or empty */
  OC_CONFIG_CHOICE, /* one of the listed words */
  OC_CONFIG_BOOL,   /* true or false */
  OC_CONFIG_COUNT,
  OC_CONFIG_SIZE, /* bytes; K, M, G, T are powers of 1024 */
  OC_CONFIG_TIME, /* milliseconds; units ms, s, min, h */
  OC_CONFIG_MODE, /* octal permission bits */
};

struct oc_config_key {
  const char *name;
  enum oc_config_type type;
  const char *fallback;  /* the default, as written */
  const char *choices;   /* blank-separated, "" otherwise */
  const char *min, *max; /* as written, "" when open */
  const char *doc;
  size_t offset; /* in struct oc_config_values */
};

extern const struct oc_config_key oc_config_keys[OC_CONFIG_N_KEYS];

struct oc_config {
  struct oc_config_values v;
  const char *origin[OC_CONFIG_N_KEYS]; /* "default", "/etc/omcc/omccd.yaml:3",
                                           "--socket", "OMCC_SOCKET" */
  struct oc_arena arena;
};

/* The defaults. */
int oc_config_init(struct oc_config *c, struct oc_error *err);
void oc_config_clear(struct oc_config *c);
/* One value; `origin` is kept for messages. The error names the key, the origin and, for
 * an unknown key, the nearest one. */
int oc_config_set(struct oc_config *c, const char *key, const char *value,
                  const char *origin, struct oc_error *err);
/* A YAML mapping of keys to scalars, from memory; `name` is for messages. */
int oc_config_read(struct oc_config *c, const char *text, size_t len, const char *name,
                   struct oc_error *err);
/* The same from a file. A missing file is fine when `optional`. */
int oc_config_load(struct oc_config *c, const char *path, bool optional,
                   struct oc_error *err);
/* Where things are when the settings do not say: taken from the environment that `get`
 * answers for (getenv in the daemon). Sets socket and cache_dir when they are empty;
 * `uid` names the place in /tmp. OC_E_ARG when neither HOME nor a setting gives a cache.
 */
int oc_config_places(struct oc_config *c, char *(*get)(const char *name), uint32_t uid,
                     struct oc_error *err);
/* Every key, documented, with its default: the content of schema/config.yaml. */
const char *oc_config_schema_text(void);

#endif
