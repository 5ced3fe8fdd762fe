/* Strings as slices, and what suggestions need. */
#ifndef OC_BASE_STR_H
#define OC_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that somebody else owns; not NUL-terminated. */
struct oc_str {
  const char *p;
  size_t len;
};

struct oc_str oc_str_of(const char *s); /* NULL gives an empty slice */
bool oc_str_eq(struct oc_str a, struct oc_str b);
bool oc_str_is(struct oc_str a, const char *b);
bool oc_str_starts(struct oc_str a, const char *prefix);
/* Blanks, tabs, CR, LF, VT and FF removed at both ends. */
struct oc_str oc_str_trim(struct oc_str s);
/* Byte-wise comparison, shorter first: the order of memcmp. */
int oc_str_cmp(struct oc_str a, struct oc_str b);

bool oc_streq(const char *a, const char *b); /* NULL equals only NULL */
bool oc_starts_with(const char *s, const char *prefix);
bool oc_ends_with(const char *s, const char *suffix);

/* The whole slice as a decimal number (an optional minus sign); false on anything else or
 * on overflow. */
bool oc_str_to_i64(struct oc_str s, int64_t *ret);
bool oc_str_to_u64(struct oc_str s, uint64_t *ret);

/* Edit distance (insert, delete, replace, swap of neighbours, each 1), `limit` + 1 when
 * more than `limit`. Strings over 256 bytes are compared by their last 256. */
unsigned oc_str_distance(const char *a, const char *b, unsigned limit);
/* The nearest of `n` names, or NULL when none is near enough to be a typing mistake
 * (a third of the length, at most 5). Case differences and '-' for '_' cost less than
 * letters. */
const char *oc_str_nearest(const char *word, const char *const *names, size_t n);

/* `len` bytes as 2*len lower-case hex digits and a NUL. */
void oc_hex(const uint8_t *bytes, size_t len, char *ret);
/* 2*len hex digits to bytes; false when `s` is anything else. */
bool oc_unhex(const char *s, uint8_t *ret, size_t len);

/* True when the bytes are well-formed UTF-8 without NUL. */
bool oc_utf8_valid(struct oc_str s);

#endif
