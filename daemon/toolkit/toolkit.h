/* One installed CANN toolkit: where it is, what it is, and the environment its compiler
 * runs in.
 *
 * Found by a configured directory or by ASCEND_HOME_PATH. Its identity is a list of named
 * texts that become key parts, so that "why" can say `custom ops changed`: version,
 * compiler program, operator packages, custom operators (by name, size and mtime of every
 * file), the Python that operators are compiled with, and the variables that change
 * results.
 *
 * Reads directories and files, starts nothing. Everything lives in the struct's arena.
 * Source of names: the vendor's public installation layout and its list of variables. */
#ifndef OC_TOOLKIT_TOOLKIT_H
#define OC_TOOLKIT_TOOLKIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct oc_toolkit_text {
  const char *name;
  const char *value;
};

struct oc_toolkit {
  struct oc_arena arena;
  const char *dir;     /* real path */
  const char *atc;     /* the wrapper to run, a real path below `dir` */
  const char *version; /* of compiler/version.info, "unknown" when it has none */
  /* Key parts: "toolkit", "compiler", "opp", "op_tables", "custom_ops", "python",
   * "environment". The server puts "toolkit." in front where it wants. */
  struct oc_toolkit_text *identity;
  size_t n_identity;
  /* The listed environment of a run (HOME, TMPDIR and the like are the runner's). */
  struct oc_toolkit_text *env;
  size_t n_env;
  /* Op files, built-in ones first, by name: "toolkit/SOC/FILE" or
   * "custom/VENDOR/SOC/FILE" and the path. */
  struct oc_toolkit_text *tables;
  size_t n_tables;
};

struct oc_toolkit_options {
  const char *dir;       /* configured directory, "" or NULL: ASCEND_HOME_PATH */
  char *const *environ_; /* of the daemon */
};

/* 1: found, `ret` filled. 0: there is none (`err` says where was looked). OC_E_ARG: a
 * directory was named but holds no usable toolkit; the message says what is missing.
 * OC_E_NOMEM. */
int oc_toolkit_find(const struct oc_toolkit_options *o, struct oc_toolkit *ret,
                    struct oc_error *err);
/* Safe on an all-zero struct and twice. */
void oc_toolkit_clear(struct oc_toolkit *t);

#endif
