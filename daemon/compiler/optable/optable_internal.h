/* What the files of optable/ share: the object, a small YAML tree, and cell scanning. */
#ifndef OC_OPTABLE_OPTABLE_INTERNAL_H
#define OC_OPTABLE_OPTABLE_INTERNAL_H

#include "optable/optable.h"

#include "base/str.h"

struct oc_optable {
  struct oc_arena arena;
  struct oc_map tables; /* id -> struct oc_table */
  struct oc_map socs;   /* name -> struct oc_soc */
  const struct oc_soc **soc_list;
  size_t n_socs;
  size_t room_socs;
  struct oc_map aicpu; /* type -> struct oc_aicpu_op */
  struct oc_map ir;    /* type -> struct oc_ir */
  struct oc_map graph; /* type -> enum oc_graph_kind, stored as a pointer into a table */
  struct oc_map cube;  /* set */
  struct oc_retype *retypes;
  size_t n_retypes;
  struct oc_unsupported *unsupported;
  size_t n_unsupported;
};

/* ---- tree.c: one YAML document as a tree. Aliases and tags are refused. */

enum oc_tree_kind { OC_TREE_SCALAR, OC_TREE_LIST, OC_TREE_MAP };

struct oc_tree {
  enum oc_tree_kind kind;
  const char *key;  /* inside a map */
  const char *text; /* scalars */
  uint32_t line;
  struct oc_tree *first;
  struct oc_tree *next;
  size_t n;
};

/* Builds the tree in `a`. The message names `name` and the line. */
int oc_tree_parse(const char *name, const void *bytes, size_t len, struct oc_arena *a,
                  struct oc_tree **ret, struct oc_error *err);
const struct oc_tree *oc_tree_get(const struct oc_tree *map, const char *key);
/* Text of a scalar member, or `other`. */
const char *oc_tree_text(const struct oc_tree *map, const char *key, const char *other);

/* ---- cells.c: the words inside one scalar */

struct oc_read {
  struct oc_optable *t;
  const char *name; /* of the file, for messages */
  bool extra;       /* a user's table: adds to one that is there */
  struct oc_arena *scratch;
  struct oc_error *err;
};

/* OC_E_FORMAT with "'file' line N: ..." in r->err. */
int oc_read_fail(const struct oc_read *r, uint32_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Next blank-separated word of *p, empty at the end. */
struct oc_str oc_word_next(const char **p);
/* Copy of a word in the optable's arena. */
const char *oc_word_keep(const struct oc_read *r, struct oc_str w);

/* A list of dtype codes with run lengths ("f16 f32*3"); returns the count and fills `out`
 * (at most `room`), negative on failure. */
#define OC_MAX_COLUMNS 1024u
int oc_cells_dtypes(const struct oc_read *r, uint32_t line, const char *p, uint8_t *out,
                    uint32_t room);
/* "nchw4d nd2d" to bits; negative on failure. */
int oc_cells_layouts(const struct oc_read *r, uint32_t line, const char *p);

/* Appends a phrase to what the table says about its sources. */
void oc_table_note(struct oc_optable *t, struct oc_table *table, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- readers, one per schema */

int oc_read_soc(const struct oc_read *r, const struct oc_tree *root);
int oc_read_families(const struct oc_read *r, const struct oc_tree *root);
int oc_read_aicpu(const struct oc_read *r, const struct oc_tree *root);
int oc_read_graph(const struct oc_read *r, const struct oc_tree *root);
int oc_read_ir(const struct oc_read *r, const struct oc_tree *root);
int oc_read_retype(const struct oc_read *r, const struct oc_tree *root);
int oc_read_unsupported(const struct oc_read *r, const struct oc_tree *root);

#endif
