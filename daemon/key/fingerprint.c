/* What a request is, without what it means: names and values as they came, files by their
 * digests. Every field is written with its length, every list with its count, so that no
 * two requests are written alike. Lists count by the digest of their bytes. */
#include <string.h>

#include "key/key.h"

/* Flags and names come in one frame. */
#define MOST_BYTES (16u << 20)

static void put_bytes(struct oc_buf *out, const void *p, size_t len)
{
  uint64_t n = len;

  oc_buf_append(out, &n, sizeof(n));
  oc_buf_append(out, p, len);
}

static void put_text(struct oc_buf *out, const char *s)
{
  put_bytes(out, s ? s : "", s ? strlen(s) : 0);
}

static void put_count(struct oc_buf *out, uint64_t n)
{
  oc_buf_append(out, &n, sizeof(n));
}

static void put_folder(struct oc_buf *out, const struct oc_key_folder *f)
{
  put_text(out, f->flag);
  put_count(out, f->n);
  for (size_t i = 0; i < f->n; i++) {
    put_text(out, f->entries[i].name);
    put_count(out, f->entries[i].folder);
    put_bytes(out, f->entries[i].sha256, OC_SHA256_LEN);
  }
}

static void put_identity(struct oc_buf *out, const struct oc_key_identity *id)
{
  put_text(out, id->name);
  if (id->text)
    put_text(out, id->text);
  else
    put_bytes(out, id->sha256, OC_SHA256_LEN);
  oc_buf_putc(out, id->text ? 't' : 'd');
}

int oc_key_fingerprint(const struct oc_key_request *req, uint8_t ret[OC_SHA256_LEN])
{
  struct oc_buf out;
  int rc;

  oc_buf_init(&out, MOST_BYTES);
  put_text(&out, req->backend);
  put_count(&out, req->strict_lists);
  put_count(&out, req->flags->n);
  for (size_t i = 0; i < req->flags->n; i++) {
    put_text(&out, req->flags->items[i].name);
    put_text(&out, req->flags->items[i].value);
  }
  put_count(&out, req->n_files);
  for (size_t i = 0; i < req->n_files; i++) {
    put_text(&out, req->files[i].flag);
    put_bytes(&out, req->files[i].sha256, OC_SHA256_LEN);
  }
  put_count(&out, req->n_folders);
  for (size_t i = 0; i < req->n_folders; i++)
    put_folder(&out, &req->folders[i]);
  put_count(&out, req->n_external);
  for (size_t i = 0; i < req->n_external; i++) {
    put_text(&out, req->external[i].name);
    put_bytes(&out, req->external[i].sha256, OC_SHA256_LEN);
  }
  put_count(&out, req->n_identity);
  for (size_t i = 0; i < req->n_identity; i++)
    put_identity(&out, &req->identity[i]);
  rc = out.failed ? OC_E_NOMEM : oc_sha256_bytes(out.data, out.len, ret);
  oc_buf_clear(&out);
  return rc;
}
