/* Runs the importer on a model given as text, and writes graph and findings as text. */
#ifndef TEST_GRAPH_TEXT_H
#define TEST_GRAPH_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/finding.h"
#include "graph/graph.h"
#include "import/import.h"

struct imported {
  struct oc_buf model;
  struct oc_arena arena;
  struct oc_findings findings;
  struct oc_graph *graph; /* NULL when there is none */
  int rc;
  char findings_text[2048]; /* "id(subject) id(subject)..." */
};

/* `opt` may be NULL; its model is replaced. */
void import_text(const char *text, const struct oc_import_options *opt,
                 struct imported *ret);
/* The same for bytes that are there already (not copied). */
void import_bytes(const void *p, size_t len, const struct oc_import_options *opt,
                  struct imported *ret);
/* The same with the importer given. */
typedef int (*import_fn)(const struct oc_import_options *options, struct oc_arena *arena,
                         struct oc_graph **ret_graph, struct oc_findings *findings,
                         struct oc_error *err);
void import_bytes_with(import_fn fn, const void *p, size_t len,
                       const struct oc_import_options *opt, struct imported *ret);
void imported_clear(struct imported *im);

/* One line per op but Data, Const and NetOutput:
 *   name = Type(x=producer, bias=producer:1) attr=1 attr=[1,2] <origin>
 * Attributes sorted by name. `all`: every op. */
void graph_text(const struct oc_graph *g, bool all, struct oc_buf *out);

#endif
