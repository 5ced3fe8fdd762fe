/* What stands before the first partition of a model: in front of the first one the
 * 256-byte header in its current version, and a table with 64-bit entries, offsets
 * counted from behind the table, no gaps. */
#include <assert.h>
#include <string.h>

#include "om_internal.h"

#define TABLE_HEAD     8
#define TABLE_ENTRY    24
#define PLATFORM_SIZE  20
#define USER_INFO_SIZE 32

/* At most `size` - 1 bytes of `s`, cut between UTF-8 characters; the rest stays zero. */
static void set_text(uint8_t *to, size_t size, const char *s)
{
  size_t len = s ? strlen(s) : 0;

  if (len > size - 1) {
    len = size - 1;
    while (len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80)
      len--;
  }
  if (len)
    memcpy(to, s, len);
}

void oc_om_label_of(const char *path, char ret[OC_OM_NAME_SIZE])
{
  const char *slash = strrchr(path, '/');
  uint8_t name[OC_OM_NAME_SIZE] = { 0 };
  char copy[256] = { 0 };

  path = slash ? slash + 1 : path;
  size_t len = strlen(path);
  if (len > 3 && strcmp(path + len - 3, ".om") == 0)
    len -= 3;
  memcpy(copy, path, len < sizeof copy - 1 ? len : sizeof copy - 1);
  set_text(name, sizeof name, copy);
  memcpy(ret, name, sizeof name);
}

size_t oc_om_table_size(uint32_t n)
{
  return TABLE_HEAD + TABLE_ENTRY * (size_t)n;
}

size_t oc_om_front_size(const struct oc_om_front *f)
{
  return OC_OM_HEADER_SIZE + oc_om_table_size(f->n_parts);
}

uint64_t oc_om_total_size(const struct oc_om_front *f)
{
  const struct oc_om_part *last = &f->parts[f->n_parts - 1];

  return last->at + last->size + f->more_size;
}

int oc_om_write_table(struct oc_om_part *parts, uint32_t n, uint64_t at,
                      struct oc_buf *out)
{
  uint64_t start = at + oc_om_table_size(n), sum = 0;
  uint8_t e[TABLE_ENTRY] = { 0 };

  assert(n >= 2 && n <= OC_OM_MAX_PARTS);
  om_set32(e, n);
  oc_buf_append(out, e, TABLE_HEAD);
  for (uint32_t i = 0; i < n; i++) {
    parts[i].at = start + sum;
    memset(e, 0, sizeof e);
    om_set32(e, parts[i].type);
    om_set64(e + 8, sum);
    om_set64(e + 16, parts[i].size);
    oc_buf_append(out, e, sizeof e);
    sum += parts[i].size;
  }
  return out->failed ? OC_E_NOMEM : 0;
}

int oc_om_write_front(struct oc_om_front *f, struct oc_buf *out)
{
  uint8_t h[OC_OM_HEADER_SIZE] = { 0 };
  uint64_t body = oc_om_table_size(f->n_parts) + f->more_size;

  for (uint32_t i = 0; i < f->n_parts; i++)
    body += f->parts[i].size;
  om_set32(h, OC_OM_MAGIC);
  om_set32(h + 4, OC_OM_HEADER_SIZE);
  om_set32(h + 8, OC_OM_VERSION_NEW);
  set_text(h + 84, OC_OM_NAME_SIZE, f->name);
  set_text(h + 120, USER_INFO_SIZE, f->user_info);
  om_set32(h + 152, 2);
  om_set32(h + 156, 1 + f->n_more);
  set_text(h + 160, PLATFORM_SIZE, f->platform);
  h[180] = 1;
  om_set64(h + 184, body);
  h[193] = f->is_unknown_model;
  oc_buf_append(out, h, sizeof h);
  return oc_om_write_table(f->parts, f->n_parts, OC_OM_HEADER_SIZE, out);
}
