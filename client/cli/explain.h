/* omcc explain: what its files share. Every function returns a documented exit status. */
#ifndef OC_CLI_EXPLAIN_H
#define OC_CLI_EXPLAIN_H

#include "cli/cli.h"

/* Status of a finished job together with the findings that were read from its report. */
int explain_status(struct cli_job *job);

/* ---- socs.c: products and target strings */
int explain_list_socs(struct cli *cli);

/* ---- explain_diff.c: `--diff -- <flags A> -- <flags B>` */
int explain_diff(struct cli *cli);

/* ---- lock.c */
int explain_lock(struct cli_job *job, const char *path);
int explain_check_lock(struct cli_job *job, const char *path);

#endif
