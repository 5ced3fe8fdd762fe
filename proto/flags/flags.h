/* ATC's flag language, and our own flags beside it.
 *
 * One table (schema/flags.yaml, turned into C at build time) feeds parser, key, --help,
 * completion and man page. The parser resolves what the vendor's parser resolves: one or
 * two dashes, '-' for '_' in names, `--f=v` and `--f v`, unambiguous prefixes, bool flags
 * without a value, the last occurrence wins (the first for the five registered options).
 *
 * Two checks: oc_flags_parse() finds what is wrong whatever compiles (syntax, missing
 * and exclusive flags, shell traps); oc_flags_check_backend() finds what is wrong for one
 * backend (unknown flags, words outside an enumeration, flags that `builtin` refuses or
 * ignores). The client calls the first; whoever resolves `auto` calls the second.
 *
 * Ownership: everything lives in the arena given to oc_flags_parse / oc_flags_init.
 * Source of names, defaults and rules: the vendor's public flag definitions and option
 * pages. */
#ifndef OC_FLAGS_FLAGS_H
#define OC_FLAGS_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/finding.h"

enum oc_flag_type { OC_FLAG_BOOL, OC_FLAG_INT, OC_FLAG_STRING };

/* What a flag does to a request key. */
enum oc_flag_key {
  OC_FLAG_KEY_VALUE,   /* the normal value is a part */
  OC_FLAG_KEY_CONTENT, /* the value is a path; the content is a part, the path is not */
  OC_FLAG_KEY_NAME, /* only a base name that travels into the file; relabelled, no part */
  OC_FLAG_KEY_NEUTRAL, /* cannot change a result: `key_reason` says why */
  OC_FLAG_KEY_REJECT,  /* the compiler always fails on it */
};

/* What a path flag names. */
enum oc_flag_content {
  OC_FLAG_NOT_A_PATH,
  OC_FLAG_FILE,     /* a regular file, passed by descriptor */
  OC_FLAG_LIST,     /* a small text file, read once by the client into a sealed memfd */
  OC_FLAG_DIR,      /* a directory whose files matter */
  OC_FLAG_OUT_PATH, /* something the compile writes */
};

/* What backend `builtin` does with a flag that was given. */
enum oc_flag_builtin {
  OC_FLAG_EFFECT, /* honoured */
  OC_FLAG_NONE,   /* no effect there: a finding says so */
  OC_FLAG_REFUSE, /* its result would be wrong without it: a finding, exit 2 */
};

/* Modes as bits of 1 << mode (0, 1, 3, 5, 6, 7, 30). */
#define OC_FLAG_MODE(mode) (1u << (mode))

struct oc_flag_info {
  const char *name; /* canonical: lower case, underscores, no dashes */
  enum oc_flag_type type;
  const char *normal;         /* default in the form that keys use, "" = not set */
  const char *const *choices; /* words of an enumeration, NULL = free */
  size_t n_choices;
  const char *hint; /* what a value looks like, for --help: "FILE", "n,c,h,w" */
  const char *help; /* one line */
  enum oc_flag_key key;
  const char *key_reason; /* for neutral ones */
  enum oc_flag_content content;
  enum oc_flag_builtin builtin;
  uint32_t required_modes; /* OC_FLAG_MODE bits */
  bool ours;               /* of omcc, never passed to a compiler */
  bool first_wins;
  bool blanks;             /* blanks and quotes inside the value mean nothing */
  bool executes;           /* runs a command of the requester's choice */
  bool uncached;           /* a request that gives it is not cached */
  const char *vendor_code; /* for a word outside the enumeration, e.g. "E10001" */
};

/* The whole table in the order of schema/flags.yaml: ATC's flags, then ours. */
const struct oc_flag_info *oc_flag_table(size_t *ret_n);
/* By canonical name; NULL when the table does not have it. */
const struct oc_flag_info *oc_flag_find(const char *name);
/* The nearest name of ATC's (or, with `ours`, of all) flags; NULL when nothing is near.
 */
const char *oc_flag_nearest(const char *name, bool ours);

struct oc_flag {
  const struct oc_flag_info *info; /* NULL: not in the table (passed on, uncached) */
  const char *name;                /* canonical */
  const char *value; /* as given; quotes and blanks cleaned where `blanks` */
  bool from_next;    /* `--f v`: the value was a word of its own */
  bool bare;         /* no value was given (bool flags, unknown ones) */
};

/* The flags of one request: each name once, in the order of first appearance. */
struct oc_flags {
  struct oc_arena *arena;
  struct oc_flag *items;
  size_t n;
  size_t room;
};

void oc_flags_init(struct oc_flags *f, struct oc_arena *arena);
/* Adds or replaces (or keeps, for first_wins). For flags that come from a frame; `known`
 * as in the message is not trusted, the table decides. 0 or OC_E_NOMEM. */
int oc_flags_set(struct oc_flags *f, const char *name, const char *value);

struct oc_flags_options {
  bool own; /* our own flags may stand among ATC's (command `omcc`); under the name `atc`
               they need the prefix --omcc_ */
  bool no_rules;  /* skip required and exclusive rules (inspect, completion) */
  bool no_output; /* --output may be missing (explain, cache has) */
  bool words; /* a word that is no option is returned, not a mistake (verbs with operands)
               */
};

/* Parses argv[0..n). Mistakes are findings in `findings`; *ret holds what could be
 * understood, so that all mistakes are told at once. `ret_words` (may be NULL unless
 * `words`) collects operands. Returns 0, or OC_E_NOMEM / OC_E_LIMIT (more than
 * OC_MAX_ARGS words). */
int oc_flags_parse(const char *const *argv, size_t n,
                   const struct oc_flags_options *options, struct oc_arena *arena,
                   struct oc_flags *ret, const char ***ret_words, size_t *ret_n_words,
                   struct oc_findings *findings, struct oc_error *err);

/* The value given, or NULL. A flag given as "" counts as not given, as in the vendor's
 * checks. */
const char *oc_flags_get(const struct oc_flags *f, const char *name);
const struct oc_flag *oc_flags_entry(const struct oc_flags *f, const char *name);
bool oc_flags_true(const struct oc_flags *f, const char *name);
/* --mode as a number (0 when not given). */
int oc_flags_mode(const struct oc_flags *f);
/* Some flag is unknown or marked `uncached`, or the mode is one that is never cached:
 * returns the name of the first such flag, NULL when the request may be cached. */
const char *oc_flags_uncached(const struct oc_flags *f);

/* The rules between flags (required, exclusive, needs); part of oc_flags_parse unless
 * `no_rules`, and called again by the daemon on what a client sent. */
void oc_flags_check_rules(const struct oc_flags *f, struct oc_findings *findings);

enum oc_flags_backend { OC_FLAGS_BUILTIN, OC_FLAGS_ATC };

/* What one backend says. For atc everything here is at most a warning: our table never
 * vetoes a toolkit that may be newer than it. */
void oc_flags_check_backend(const struct oc_flags *f, enum oc_flags_backend backend,
                            struct oc_findings *findings);

/* Words of enumerations of our own flags; any backend. */
void oc_flags_check_own(const struct oc_flags *f, struct oc_findings *findings);

/* Paths with characters that the vendor's compiler refuses (letters, digits, '-', '.',
 * '_', '/' and CJK ideographs are taken): warnings, since files travel as descriptors. */
void oc_flags_check_paths(const struct oc_flags *f, struct oc_findings *findings);

/* The precision mode in one spelling per effective mode (v1 where v1 has one): nothing,
 * `--precision_mode=force_fp16` and `--precision_mode_v2=fp16` all give "force_fp16".
 * NULL when a value is in no spelling of the table. `ret_given` may be NULL. */
const char *oc_flags_precision(const struct oc_flags *f, bool *ret_given);

/* Normal form, for keys: every value-keyed flag of ATC's table in table order with its
 * default filled in, aliases of the precision modes folded into one part `precision_mode`
 * (v1 spelling), bool words folded, input_format resolved from the framework. Two
 * requests with equal normal forms and equal contents ask for the same file. Unknown
 * flags follow in order of name. Content, name, neutral and reject flags are not in it.
 */
struct oc_flag_normal {
  const char *name;
  const char *value;
  bool given; /* false: the default */
};
int oc_flags_normal(const struct oc_flags *f, struct oc_arena *arena,
                    struct oc_flag_normal **ret, size_t *ret_n);

#endif
