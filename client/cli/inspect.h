/* omcc inspect: what its files share. */
#ifndef OC_CLI_INSPECT_H
#define OC_CLI_INSPECT_H

#include "cli/cli.h"
#include "om/om.h"

/* ---- check_list.c: a list held against the dtypes of a compiled file. A documented exit
 * status. */
int inspect_check_list(struct cli *cli, const char *path, const struct oc_om_info *info,
                       const char *list);

#endif
