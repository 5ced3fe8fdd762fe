/* From an order to its key.
 *
 * Building a key takes a hundred digests; who asks for the same thing again, which is
 * what a cache is for, shall not wait for them. So the keys of recent requests are kept
 * under the digest of everything they were made of. The parts, which only a miss needs,
 * are built when there is one. */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "key/key.h"

#define SLOTS 256

struct slot {
  bool used;
  uint8_t fingerprint[OC_SHA256_LEN], key[OC_SHA256_LEN], options[OC_SHA256_LEN];
};

struct key_memo {
  struct slot slots[SLOTS];
};

static int fill_request(struct order *o, struct oc_key_request *req)
{
  struct oc_key_file *files = OC_NEW_N(&o->arena, struct oc_key_file, o->n_files + 1);
  struct oc_key_external *ext =
      OC_NEW_N(&o->arena, struct oc_key_external, o->n_external + 1);
  struct oc_key_folder *folders;

  if (!files || !ext || folders_for_key(o, &folders) ||
      backend_identity(o->srv, o->backend, &o->arena, &req->identity, &req->n_identity))
    return OC_E_NOMEM;
  for (size_t i = 0; i < o->n_files; i++) {
    files[i].flag = o->files[i].flag;
    memcpy(files[i].sha256, o->files[i].sha256, OC_SHA256_LEN);
    if (o->files[i].list) {
      files[i].bytes = o->files[i].bytes ? o->files[i].bytes : "";
      files[i].len = o->files[i].len;
    }
  }
  for (size_t i = 0; i < o->n_external; i++) {
    ext[i].name = o->external[i].name;
    memcpy(ext[i].sha256, o->external[i].sha256, OC_SHA256_LEN);
  }
  req->folders = folders;
  req->n_folders = o->n_folders;
  req->flags = &o->flags;
  req->backend = o->backend;
  req->strict_lists = o->strict_lists;
  req->files = files;
  req->n_files = o->n_files;
  req->external = ext;
  req->n_external = o->n_external;
  return 0;
}

static int build(struct order *o, const struct oc_key_request *req, struct oc_error *err)
{
  struct oc_key_parts *parts = OC_NEW(&o->arena, struct oc_key_parts);
  int r;

  if (!parts)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a key");
  oc_key_parts_init(parts, &o->arena);
  r = oc_key_build(req, parts, err);
  if (r)
    return r;
  if (oc_key_digest(parts, o->key) || oc_key_options_digest(parts, o->options) ||
      oc_key_parts_pack(parts, &o->parts))
    return oc_error_set(err, OC_E_NOMEM, "no memory for a key");
  o->key_parts = parts;
  return 0;
}

/* Where the key of such a request is, or goes; NULL without memory. */
static struct slot *slot_for(struct oc_server *s,
                             const uint8_t fingerprint[OC_SHA256_LEN])
{
  if (!s->key_memo)
    s->key_memo = calloc(1, sizeof(*s->key_memo));
  return s->key_memo ? &s->key_memo->slots[fingerprint[0] % SLOTS] : NULL;
}

int request_key(struct order *o, struct oc_error *err)
{
  struct oc_key_request req = { 0 };
  uint8_t fingerprint[OC_SHA256_LEN];
  struct slot *slot = NULL;
  int r;

  if (fill_request(o, &req))
    return oc_error_set(err, OC_E_NOMEM, "no memory for a key");
  if (!oc_key_fingerprint(&req, fingerprint))
    slot = slot_for(o->srv, fingerprint);
  if (slot && slot->used &&
      !memcmp(slot->fingerprint, fingerprint, sizeof(fingerprint))) {
    memcpy(o->key, slot->key, sizeof(o->key));
    memcpy(o->options, slot->options, sizeof(o->options));
    return 0;
  }
  r = build(o, &req, err);
  if (r || !slot)
    return r;
  slot->used = true;
  memcpy(slot->fingerprint, fingerprint, sizeof(fingerprint));
  memcpy(slot->key, o->key, sizeof(o->key));
  memcpy(slot->options, o->options, sizeof(o->options));
  return 0;
}

int request_key_parts(struct order *o, struct oc_error *err)
{
  struct oc_key_request req = { 0 };

  if (o->key_parts)
    return 0;
  if (fill_request(o, &req))
    return oc_error_set(err, OC_E_NOMEM, "no memory for a key");
  return build(o, &req, err);
}
