/* Settings: a table of keys, a struct of values, and for each value where it came from.
 *
 * All ways in (defaults, files, environment, command line) end in oc_config_set(), so
 * that types, limits and messages are the same for all of them. */
#include "config/config.h"
#include "config/config_internal.h"

#include <string.h>

#include "base/str.h"

const struct oc_config_key *oc_config_key_find(const char *name, size_t *ret_index)
{
  for (size_t i = 0; i < OC_CONFIG_N_KEYS; i++) {
    if (!oc_streq(oc_config_keys[i].name, name))
      continue;
    *ret_index = i;
    return &oc_config_keys[i];
  }
  return NULL;
}

static int unknown_key(const char *key, const char *origin, struct oc_error *err)
{
  const char *names[OC_CONFIG_N_KEYS];
  const char *near;

  for (size_t i = 0; i < OC_CONFIG_N_KEYS; i++)
    names[i] = oc_config_keys[i].name;
  near = oc_str_nearest(key, names, OC_CONFIG_N_KEYS);
  if (near)
    return oc_error_set(err, OC_E_ARG, "%s: unknown setting '%s', did you mean '%s'",
                        origin, key, near);
  return oc_error_set(err, OC_E_ARG, "%s: unknown setting '%s'", origin, key);
}

int oc_config_set(struct oc_config *c, const char *key, const char *value,
                  const char *origin, struct oc_error *err)
{
  struct oc_error why = { 0 };
  size_t index;
  const struct oc_config_key *k = oc_config_key_find(key, &index);
  char *from;

  if (!k)
    return unknown_key(key, origin, err);
  if (oc_config_value_set(c, k, value, &why))
    return oc_error_set(err, why.code, "%s: '%s' %s", origin, key, why.msg);
  from = oc_arena_strdup(&c->arena, origin);
  if (!from)
    return oc_error_set(err, OC_E_NOMEM, "no memory for settings");
  c->origin[index] = from;
  return 0;
}

int oc_config_init(struct oc_config *c, struct oc_error *err)
{
  memset(c, 0, sizeof(*c));
  oc_arena_init(&c->arena, 1 << 20); /* settings are text of a few hundred bytes */
  for (size_t i = 0; i < OC_CONFIG_N_KEYS; i++) {
    int r = oc_config_set(c, oc_config_keys[i].name, oc_config_keys[i].fallback,
                          "default", err);

    if (r)
      return r;
  }
  return 0;
}

void oc_config_clear(struct oc_config *c)
{
  oc_arena_clear(&c->arena);
  memset(c, 0, sizeof(*c));
}

const char *oc_config_schema_text(void)
{
  return oc_config_schema;
}
