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
/* ---- diff_jobs.c: `--diff JOB JOB`, what is left of the words when flags are missing */
int explain_diff_jobs(struct cli *cli);
/* ---- diff_show.c */
#define DIFF_SCHEMA "omcc.diff/1"
/* A part in which two requests differ; of a list one line. */
struct diff_change {
  const char *name, *a, *b; /* NULL: not given, or a default */
};
int explain_show_diff(struct cli *cli, const struct diff_change *list, size_t n,
                      const Omcc__V1__Report *a, const Omcc__V1__Report *b);

/* ---- lock.c */
int explain_lock(struct cli_job *job, const char *path);
int explain_check_lock(struct cli_job *job, const char *path);

#endif
