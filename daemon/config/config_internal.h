/* What the files of this module share. */
#ifndef OC_CONFIG_INTERNAL_H
#define OC_CONFIG_INTERNAL_H

#include "config/config.h"

extern const char oc_config_schema[]; /* the text of schema/config.yaml */

/* NULL when there is no such key; *ret_index is its row. */
const struct oc_config_key *oc_config_key_find(const char *name, size_t *ret_index);
/* Reads `value` by the key's type into its field. The error does not name the origin. */
int oc_config_value_set(struct oc_config *c, const struct oc_config_key *k,
                        const char *value, struct oc_error *err);

#endif
