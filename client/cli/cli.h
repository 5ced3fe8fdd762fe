/* The omcc command: what its verbs share.
 *
 * A verb is a function that takes the parsed command line and returns a documented exit
 * status. Results go to stdout, talk goes to stderr; with --json stdout holds exactly one
 * object. Everything lives in one arena, freed when the process ends. */
#ifndef OC_CLI_H
#define OC_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/finding.h"
#include "flags/flags.h"
#include "lib/omcc.h"
#include "messages/messages.h"
#include "render/render.h"

#define CLI_TEXT_CAP ((size_t)1 << 30)

struct cli {
  bool as_atc; /* called under the name atc */
  const char *const *args;
  size_t n_args;
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_flags flags;
  const char **words;
  size_t n_words;
  bool json, quiet, verbose;
  bool err_is_terminal;
  struct oc_style out_style, err_style;
  struct oc_places places;
  const char *backend; /* --backend, OMCC_BACKEND, or NULL */
};

/* ---- options.c ---- */

enum cli_parse { CLI_COMPILE, CLI_NO_OUTPUT, CLI_WORDS };

/* Parses the command line and settles style and backend. 0, or an exit status. Findings
 * with errors are the caller's to report (cli_refuse). */
int cli_parse(struct cli *cli, enum cli_parse how);

/* Findings in Chinese? --lang, else the locale. */
bool cli_wants_chinese(const struct cli *cli);

/* ---- say.c ---- */

/* Prints findings (stderr), or the JSON object with them; returns `status`. */
int cli_refuse(struct cli *cli, const char *schema, int status, const char *message);
/* The same for a failure of the library: becomes a finding when it is the user's mistake.
 */
int cli_fail(struct cli *cli, const char *schema, const struct omcc_error *err);
/* Adds the finding that `err` carries; false when it carries none. */
bool cli_add_finding(struct cli *cli, const struct omcc_error *err);
void cli_print_findings(struct cli *cli);
/* Writes a buffer and clears it. */
void cli_out(int fd, struct oc_buf *text);
/* errno of what could not be written to stdout; 0, also when the reader left early. */
int cli_lost_output(void);
/* The one object of --json: begin opens `data`, the caller writes its members, end prints
 * everything on stdout. `text` is begun and cleared here. */
void cli_json_begin(struct cli *cli, struct oc_json_writer *w, struct oc_buf *text,
                    const char *schema, int status, const char *message);
void cli_json_end(struct oc_json_writer *w, struct oc_buf *text);
/* "omcc: <text>" on stderr unless --quiet. */
void cli_note(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void cli_buf(struct oc_buf *b);

/* ---- job.c ---- */

struct cli_job {
  struct cli *cli;
  struct omcc *c;
  struct omcc_job *job;
  const struct omcc_result *result; /* NULL until finished */
  const Omcc__V1__Finished *finished;
  const Omcc__V1__Report *report; /* NULL when there is none */
  struct cli_progress *progress;
  bool output_seen; /* lines of the vendor's compiler came as frames */
};

/* Connects, submits, waits, follows signals. 0 with job->result set, or an exit status
 * (everything already said). `start` as in omcc_options. */
int cli_run_job(struct cli *cli, enum omcc_want want, enum omcc_start start,
                const char *schema, struct cli_job *ret);
/* Reads the report and collects its findings; `ops`: also what it says of each op, which
 * takes longer than everything else that a hit does. */
void cli_read_report(struct cli_job *job, bool ops);
void cli_close_job(struct cli_job *job);
/* Writes what --dump_passes asks for; needs the report. What fails is a note. */
void cli_write_dumps(struct cli_job *j);
int cli_connect(struct cli *cli, enum omcc_start start, struct omcc **ret,
                struct omcc_error *err);

/* ---- places.c ---- */

/* Lines of the requester's own lists, from the bytes that were submitted. */
void cli_find_places(struct cli *cli, const struct omcc_job *job);

/* ---- read_file.c ---- */

/* Reads a regular file that `flag` names. 0, or an exit status (everything said). `ret`
 * is the caller's to clear in any case. */
int cli_read_file(struct cli *cli, const char *schema, const char *flag, const char *path,
                  struct oc_buf *ret);

/* ---- progress.c ---- */

struct cli_progress;
struct cli_progress *cli_progress_new(struct cli *cli);
void cli_progress_update(struct cli_progress *p, const struct omcc_progress *u);
/* Draws what is due; called at least five times per second while waiting. */
void cli_progress_tick(struct cli_progress *p);
/* Removes the line before other text is written. */
void cli_progress_clear(struct cli_progress *p);

/* ---- signals.c ---- */

void cli_catch_signals(void);
int cli_interrupts(void); /* SIGINTs so far */
int cli_terminated(void); /* SIGTERM or SIGHUP, 0 none */

/* ---- verbs ---- */

int verb_compile(struct cli *cli);
int verb_explain(struct cli *cli);
int verb_ops(struct cli *cli);
int verb_lint_lists(struct cli *cli);
int verb_status(struct cli *cli);
int verb_cache(struct cli *cli);
int verb_why(struct cli *cli);
int verb_whence(struct cli *cli);
int verb_inspect(struct cli *cli);
int verb_daemon(struct cli *cli);
int verb_help(struct cli *cli);
int verb_version(struct cli *cli);
/* Mode 6 of ATC: the display lines of --om. */
int verb_display(struct cli *cli, const char *path);
/* The flags of ATC, one line each. */
void help_flags(struct oc_buf *out, bool ours);

#endif
