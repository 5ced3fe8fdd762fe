/* What the files of om/ share: little-endian access and the bounded MODEL_DEF reader. */
#ifndef OC_OM_INTERNAL_H
#define OC_OM_INTERNAL_H

#include "om/om.h"
#include "wire/wire.h"

#define OC_OM_MAGIC       0x444F4D49u
#define OC_OM_VERSION_NEW 0x20000000u
#define OC_OM_VERSION_OLD 0x10000000u
#define OC_OM_TYPE_BUNDLE 5 /* modeltype of a file of files */
#define OC_OM_TYPE_FLOW   3

static inline uint32_t om_get32(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}
static inline uint64_t om_get64(const uint8_t *p)
{
  return om_get32(p) | (uint64_t)om_get32(p + 4) << 32;
}
static inline void om_set32(uint8_t *p, uint32_t v)
{
  for (int i = 0; i < 4; i++)
    p[i] = (uint8_t)(v >> (8 * i));
}
static inline void om_set64(uint8_t *p, uint64_t v)
{
  om_set32(p, (uint32_t)v);
  om_set32(p + 4, (uint32_t)(v >> 32));
}

/* State of one MODEL_DEF being read. `left` bounds what the arena may give: hostile bytes
 * of two each must not become a structure of hundreds of bytes each. */
struct om_reader {
  struct oc_arena *arena;
  size_t left;
  size_t words_left; /* bytes of the dictionary's words in all places that use them */
  const struct oc_om_attr *names, *values, *is_string; /* the dictionary, NULL: none */
  struct oc_error *err;
};

void *om_alloc(struct om_reader *r, size_t n, size_t size);
/* "MODEL_DEF: <what> ..." as OC_E_FORMAT. */
int om_bad(struct om_reader *r, const char *what);

/* Occurrences of field `number` in a message; -1 (and the error set) when malformed. */
int om_count(struct om_reader *r, struct oc_str msg, uint32_t number, uint32_t *ret);
/* All strings of a repeated field. */
int om_read_strings(struct om_reader *r, struct oc_str msg, uint32_t number,
                    struct oc_str **ret, uint32_t *ret_n);
/* All values of a repeated integer field, packed or not. */
int om_read_ints(struct om_reader *r, struct oc_str msg, uint32_t number,
                 const int64_t **ret, uint32_t *ret_n);

/* An attribute map (field `number` of `msg`). `deep`: descriptors inside are read too;
 * a descriptor's own attributes are not, which is what ends the nesting. */
int om_read_attrs(struct om_reader *r, struct oc_str msg, uint32_t number, bool deep,
                  struct oc_om_attr **ret, uint32_t *ret_n);
int om_read_desc(struct om_reader *r, struct oc_str msg, struct oc_om_desc *ret);

/* End of a writer: a child that failed makes `out` fail, which then holds nothing. */
static inline int om_finish(struct oc_buf *out, bool child_failed)
{
  if (!out->failed && !child_failed)
    return 0;
  oc_buf_clear(out);
  out->failed = true;
  return OC_E_NOMEM;
}

/* Writes an attribute map as field `number`, sorted by key. */
int om_write_attrs(struct oc_buf *out, uint32_t number, struct oc_om_attr *attrs,
                   uint32_t n);
int om_write_desc(struct oc_buf *out, const struct oc_om_desc *d);

#endif
