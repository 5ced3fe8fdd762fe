/* What the importers share: the bytes under the reader, findings about them, lists of
 * numbers out of the wire, and the names of IR tensors.
 *
 * Ownership: everything made here lives in the reader's arena. Errors: OC_E_FORMAT with a
 * finding, or OC_E_NOMEM. */
#ifndef OC_IMPORT_READER_H
#define OC_IMPORT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/finding.h"
#include "base/str.h"
#include "graph/graph.h"

/* Shared by everything that reads the model's bytes. */
struct import_reader {
  const uint8_t *base;
  size_t len;
  struct oc_arena *arena;
  struct oc_findings *findings;
  bool lenient;
  bool unknown_is_row; /* a type that is not known is a warning in any case */
  size_t total_nodes;
  uint32_t n_told[OC_FINDING_COUNT];
};

/* The most that one import may put into the arena: a small multiple of the model's size,
 * for structs around short names and numbers are larger than their bytes in the file.
 * Give the result to arena->cap and set the old one back at the end. */
size_t import_cap(const struct oc_arena *a, size_t model_len);
/* What to return when an import ran out of memory: at its own cap that is a mistake of
 * the model, a finding and OC_E_FORMAT; otherwise OC_E_NOMEM. Call it while the cap
 * stands. */
int import_no_room(struct import_reader *r, struct oc_error *err);

/* A finding of this section; after the first few of one kind they are only counted.
 * `name1` and `name2` may be NULL. */
void import_tell(struct import_reader *r, enum oc_finding_id id, const char *subject,
                 const char *name1, const char *value1, const char *name2,
                 const char *value2);
/* Ends an import: says how many findings were only counted, sets arena->cap back to
 * `cap`, and turns `rc` into what the importers promise (import.h). */
int import_end(struct import_reader *r, size_t cap, int rc, struct oc_error *err);
/* Adds "model-malformed" at the byte position of `where` and returns OC_E_FORMAT. */
int import_malformed(struct import_reader *r, const void *where, const char *why);
/* The finding with severity lowered when lenient. */
struct oc_finding *import_lower(const struct import_reader *r, struct oc_finding *f);

/* How often `field` occurs (as a message or bytes); SIZE_MAX when malformed. */
size_t import_count(const struct import_reader *r, struct oc_str body, uint32_t field);
/* A field's bytes as a NUL-terminated UTF-8 string; NULL with a finding otherwise. */
const char *import_string(struct import_reader *r, struct oc_str s);
/* Every value of a repeated number field, packed or not, as one array. */
int import_read_ints(struct import_reader *r, struct oc_str body, uint32_t field,
                     const int64_t **ret, size_t *ret_n);
int import_read_floats(struct import_reader *r, struct oc_str body, uint32_t field,
                       const float **ret, size_t *ret_n);

/* Elements of a constant that the wire holds as numbers (numbers.c). */
enum import_numbers { IMPORT_VARINTS, IMPORT_FIXED32, IMPORT_FIXED64 };
/* How many there are over all occurrences of `field`; `ret_run` gets the bytes when they
 * are one packed run of fixed numbers, which may be used in place. False: malformed. */
bool import_count_numbers(struct oc_str body, uint32_t field, enum import_numbers kind,
                          uint64_t *ret, struct oc_str *ret_run);
/* Writes the first `n` as little-endian numbers of `width` bytes; false when there are
 * fewer (the file has changed) or memory is short. */
bool import_gather_numbers(struct oc_str body, uint32_t field, enum import_numbers kind,
                           uint8_t *out, size_t n, size_t width);

/* Names the tensors of an op after its IR type (ir_names.c). */
void import_name_tensors(struct oc_arena *a, struct oc_op *op);
/* Outputs of an IR type: fixed ones, and whether dynamic ones follow; false when the type
 * is not known. */
bool import_ir_outputs(const char *type, uint32_t *ret_fixed, bool *ret_dynamic);
/* Most inputs of an IR type, UINT32_MAX when dynamic or not known. */
uint32_t import_ir_inputs(const char *type);

#endif
