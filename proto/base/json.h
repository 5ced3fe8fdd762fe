/* Strict JSON (RFC 8259): a reader with positions and a small writer.
 *
 * The reader builds a tree in an arena. Depth is limited, numbers keep their text,
 * strings are decoded to UTF-8 (lone surrogates and NUL are refused). Duplicate keys are
 * kept in order: oc_json_get gives the first. */
#ifndef OC_BASE_JSON_H
#define OC_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

enum oc_json_kind {
  OC_JSON_NULL,
  OC_JSON_BOOL,
  OC_JSON_NUMBER,
  OC_JSON_STRING,
  OC_JSON_ARRAY,
  OC_JSON_OBJECT,
};

struct oc_json {
  enum oc_json_kind kind;
  bool boolean;
  struct oc_str text; /* string value, or the number as written */
  const char *key;    /* inside an object: the member's name, NUL-terminated; else NULL */
  struct oc_json *first; /* children of arrays and objects, in order */
  struct oc_json *next;
  size_t n;
  uint32_t line, column; /* where the value starts, 1-based */
};

enum oc_json_flags {
  OC_JSON_TRAILING_COMMAS = 1, /* tables of the toolkit have them */
  OC_JSON_ALLOW_REST = 2, /* text after the first value is ignored, as the vendor does */
};

/* Reads one value; on failure the message names line and column. */
int oc_json_parse(const char *text, size_t len, unsigned flags, struct oc_arena *arena,
                  struct oc_json **ret, struct oc_error *err);

/* Member of an object by name; NULL when absent or when `v` is no object (or NULL). */
const struct oc_json *oc_json_get(const struct oc_json *v, const char *key);
/* NUL-terminated string value, or `other` when `v` is not a string. */
const char *oc_json_string(const struct oc_json *v, const char *other);
bool oc_json_bool(const struct oc_json *v, bool other);
bool oc_json_i64(const struct oc_json *v, int64_t *ret);
bool oc_json_f64(const struct oc_json *v, double *ret);

/* Writer: commas and escapes are its business. Keys are NULL inside arrays.
 * A NULL string is written as null. Non-finite numbers are written as null. */
struct oc_json_writer {
  struct oc_buf *out;
  unsigned depth;
  bool comma;
  bool pretty; /* two-space indentation */
};

void oc_json_writer_init(struct oc_json_writer *w, struct oc_buf *out, bool pretty);
void oc_json_begin_object(struct oc_json_writer *w, const char *key);
void oc_json_end_object(struct oc_json_writer *w);
void oc_json_begin_array(struct oc_json_writer *w, const char *key);
void oc_json_end_array(struct oc_json_writer *w);
void oc_json_put_string(struct oc_json_writer *w, const char *key, const char *value);
void oc_json_put_str(struct oc_json_writer *w, const char *key, struct oc_str value);
void oc_json_put_i64(struct oc_json_writer *w, const char *key, int64_t value);
void oc_json_put_u64(struct oc_json_writer *w, const char *key, uint64_t value);
void oc_json_put_f64(struct oc_json_writer *w, const char *key, double value);
void oc_json_put_bool(struct oc_json_writer *w, const char *key, bool value);
void oc_json_put_null(struct oc_json_writer *w, const char *key);

#endif
