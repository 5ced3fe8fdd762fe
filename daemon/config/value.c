/* Reading one value by its type: numbers with units, words, paths.
 *
 * Messages continue a sentence that begins with the key: "'workers' must be a number". */
#include "config/config.h"
#include "config/config_internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

struct unit {
  const char *name;
  uint64_t factor;
};

static const struct unit size_units[] = {
  { "", 1 },           { "K", 1ull << 10 }, { "M", 1ull << 20 },
  { "G", 1ull << 30 }, { "T", 1ull << 40 },
};
static const struct unit time_units[] = {
  { "", 1 }, { "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 },
};
static const struct unit no_units[] = { { "", 1 } };

static bool number(const char *s, const struct unit *units, size_t n_units, uint64_t *ret)
{
  size_t digits = strspn(s, "0123456789");
  struct oc_str head = { s, digits };
  uint64_t n;

  if (!digits || !oc_str_to_u64(head, &n))
    return false;
  for (s += digits; *s == ' '; s++)
    continue;
  for (size_t i = 0; i < n_units; i++)
    if (oc_streq(s, units[i].name))
      return !__builtin_mul_overflow(n, units[i].factor, ret);
  return false;
}

static bool number_of(enum oc_config_type type, const char *s, uint64_t *ret)
{
  switch (type) {
  case OC_CONFIG_SIZE: return number(s, size_units, OC_COUNT(size_units), ret);
  case OC_CONFIG_TIME: return number(s, time_units, OC_COUNT(time_units), ret);
  default: return number(s, no_units, OC_COUNT(no_units), ret);
  }
}

static const char *number_wish(enum oc_config_type type)
{
  switch (type) {
  case OC_CONFIG_SIZE: return "must be a number of bytes, such as 512M or 20G";
  case OC_CONFIG_TIME: return "must be a time, such as 500ms, 10s, 30min or 2h";
  default: return "must be a number";
  }
}

static int set_number(const struct oc_config_key *k, const char *value, uint64_t *field,
                      struct oc_error *err)
{
  uint64_t n, limit;

  if (!number_of(k->type, value, &n))
    return oc_error_set(err, OC_E_ARG, "%s, not '%s'", number_wish(k->type), value);
  if (*k->min && number_of(k->type, k->min, &limit) && n < limit)
    return oc_error_set(err, OC_E_ARG, "must be at least %s, not '%s'", k->min, value);
  if (*k->max && number_of(k->type, k->max, &limit) && n > limit)
    return oc_error_set(err, OC_E_ARG, "must be at most %s, not '%s'", k->max, value);
  *field = n;
  return 0;
}

static int set_mode(const char *value, uint64_t *field, struct oc_error *err)
{
  uint64_t mode = 0;

  for (const char *p = value; *p; p++) {
    if (*p < '0' || *p > '7' || mode > 077)
      return oc_error_set(err, OC_E_ARG,
                          "must be octal permissions such as 0600, not '%s'", value);
    mode = mode * 8 + (uint64_t)(*p - '0');
  }
  if (!*value)
    return oc_error_set(err, OC_E_ARG, "must be octal permissions such as 0600");
  *field = mode;
  return 0;
}

static int set_bool(const char *value, bool *field, struct oc_error *err)
{
  if (!oc_streq(value, "true") && !oc_streq(value, "false"))
    return oc_error_set(err, OC_E_ARG, "must be true or false, not '%s'", value);
  *field = oc_streq(value, "true");
  return 0;
}

static bool is_choice(const char *choices, const char *value)
{
  size_t len = strlen(value);

  for (const char *p = choices; *p;) {
    size_t word = strcspn(p, " ");

    if (word == len && !memcmp(p, value, len))
      return true;
    p += word;
    p += strspn(p, " ");
  }
  return false;
}

static int set_text(struct oc_config *c, const struct oc_config_key *k, const char *value,
                    const char **field, struct oc_error *err)
{
  char *copy;

  if (k->type == OC_CONFIG_PATH && *value && *value != '/')
    return oc_error_set(err, OC_E_ARG, "must be an absolute path, not '%s'", value);
  if (k->type == OC_CONFIG_CHOICE && !is_choice(k->choices, value))
    return oc_error_set(err, OC_E_ARG, "must be one of '%s', not '%s'", k->choices,
                        value);
  copy = oc_arena_strdup(&c->arena, value);
  if (!copy)
    return oc_error_set(err, OC_E_NOMEM, "has no memory");
  *field = copy;
  return 0;
}

int oc_config_value_set(struct oc_config *c, const struct oc_config_key *k,
                        const char *value, struct oc_error *err)
{
  void *field = (char *)&c->v + k->offset;

  switch (k->type) {
  case OC_CONFIG_BOOL: return set_bool(value, field, err);
  case OC_CONFIG_MODE: return set_mode(value, field, err);
  case OC_CONFIG_COUNT:
  case OC_CONFIG_SIZE:
  case OC_CONFIG_TIME: return set_number(k, value, field, err);
  default: return set_text(c, k, value, field, err);
  }
}
