/* From a request to its parts. Everything is a part unless the flag table says neutral;
 * the order is fixed: format, backend and its identity, model, external files, content
 * flags in table order, options in table order.
 *
 * Lists are brought to their canonical form first, so line ends, a byte-order mark or
 * blank lines make no other key. A list that cannot be parsed counts byte for byte: the
 * request will fail, or the vendor's compiler will judge it. */
#include <string.h>

#include "base/str.h"
#include "key/key.h"
#include "lists/lists.h"

/* Canonical bytes are never longer than what the lists room may read, plus its quoting.
 */
#define CANONICAL_CAP (256u << 20)

/* ---------------------------------------------------------------- lists */

static int canonical_keep(struct oc_arena *a, const struct oc_key_file *f,
                          struct oc_findings *fs, struct oc_buf *out)
{
  struct oc_keep_list *l = NULL;
  int rc = oc_keep_parse(a, f->bytes, f->len, 0, fs, &l);

  return rc < 0 ? rc : oc_keep_canonical(l, out);
}

static int canonical_custom(struct oc_arena *a, const struct oc_key_file *f,
                            struct oc_findings *fs, struct oc_buf *out)
{
  struct oc_custom_list *l = NULL;
  int rc = oc_custom_parse(a, f->bytes, f->len, 0, fs, &l);

  if (rc == 0)
    rc = oc_custom_canonical(l, out);
  oc_custom_clear(l);
  return rc;
}

static int canonical_mix(struct oc_arena *a, const struct oc_key_file *f,
                         struct oc_findings *fs, struct oc_buf *out)
{
  struct oc_mix_list *l = NULL;
  int rc = oc_mix_parse(a, f->bytes, f->len, 0, fs, &l);

  if (rc == 0)
    rc = oc_mix_canonical(l, out);
  oc_mix_clear(l);
  return rc;
}

static int canonical_impl(struct oc_arena *a, const struct oc_key_file *f,
                          struct oc_findings *fs, struct oc_buf *out)
{
  struct oc_impl_list *l = NULL;
  int rc = oc_impl_parse(a, f->bytes, f->len, 0, fs, &l);

  return rc < 0 ? rc : oc_impl_canonical(l, out);
}

static const struct {
  const char *flag;
  int (*canonical)(struct oc_arena *, const struct oc_key_file *, struct oc_findings *,
                   struct oc_buf *);
} lists[] = {
  { "keep_dtype", canonical_keep },
  { "customize_dtypes", canonical_custom },
  { "modify_mixlist", canonical_mix },
  { "op_precision_mode", canonical_impl },
};
#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

bool oc_key_wants_bytes(const char *flag)
{
  const struct oc_flag_info *info = oc_flag_find(flag);

  return info && info->key == OC_FLAG_KEY_CONTENT && info->content == OC_FLAG_LIST;
}

/* The content of a list as one part. */
static int add_list(struct oc_key_parts *ps, const struct oc_key_file *f)
{
  struct oc_arena scratch;
  struct oc_findings fs;
  struct oc_buf out;
  int rc = OC_E_FORMAT;

  oc_arena_init(&scratch, 0);
  oc_findings_init(&fs, &scratch);
  oc_buf_init(&out, CANONICAL_CAP);
  for (size_t i = 0; i < N_LISTS; i++)
    if (oc_streq(lists[i].flag, f->flag))
      rc = lists[i].canonical(&scratch, f, &fs, &out);
  if (rc == 0 && !out.failed && !scratch.failed)
    rc = oc_key_add_content(ps, f->flag, oc_buf_str(&out), out.len);
  else
    rc = oc_key_add_content(ps, f->flag, f->bytes, f->len);
  oc_buf_clear(&out);
  oc_arena_clear(&scratch);
  return rc;
}

/* ---------------------------------------------------------------- the parts */

static int no_memory(struct oc_error *err)
{
  return oc_error_set(err, OC_E_NOMEM, "no memory for the key of a request");
}

static int add_backend(const struct oc_key_request *req, struct oc_key_parts *ps)
{
  int rc = oc_key_add_value(ps, "format", OC_KEY_FORMAT);

  if (rc == 0)
    rc = oc_key_add_value(ps, "backend", req->backend);
  for (size_t i = 0; i < req->n_identity && rc == 0; i++) {
    const struct oc_key_identity *id = &req->identity[i];
    const char *name = oc_arena_printf(ps->arena, "backend:%s", id->name);
    if (!name)
      return OC_E_NOMEM;
    rc = id->text ? oc_key_add_value(ps, name, id->text)
                  : oc_key_add_digest(ps, name, id->sha256);
  }
  return rc;
}

static const struct oc_key_file *file_of(const struct oc_key_request *req,
                                         const char *flag)
{
  for (size_t i = 0; i < req->n_files; i++)
    if (oc_streq(req->files[i].flag, flag))
      return &req->files[i];
  return NULL;
}

static int add_external(const struct oc_key_request *req, struct oc_key_parts *ps)
{
  for (size_t i = 0; i < req->n_external; i++) {
    const char *name = oc_arena_printf(ps->arena, "external:%s", req->external[i].name);
    if (!name || oc_key_add_digest(ps, name, req->external[i].sha256) < 0)
      return OC_E_NOMEM;
  }
  return 0;
}

static const struct oc_key_folder *folder_of(const struct oc_key_request *req,
                                             const char *flag)
{
  for (size_t i = 0; i < req->n_folders; i++)
    if (oc_streq(req->folders[i].flag, flag))
      return &req->folders[i];
  return NULL;
}

/* One content flag, whose file or folder must be there. */
static int add_file(const struct oc_key_request *req, struct oc_key_parts *ps,
                    const struct oc_flag_info *info, struct oc_error *err)
{
  const struct oc_key_folder *folder = folder_of(req, info->name);
  const struct oc_key_file *f = file_of(req, info->name);

  if (folder)
    return oc_key_add_folder(ps, info->name, folder) < 0 ? no_memory(err) : 0;
  if (!f)
    return oc_error_set(err, OC_E_ARG, "the content of --%s is not known", info->name);
  if (!oc_key_wants_bytes(info->name))
    return oc_key_add_digest(ps, info->name, f->sha256) < 0 ? no_memory(err) : 0;
  if (!f->bytes && f->len)
    return oc_error_set(err, OC_E_ARG, "the bytes of --%s are not at hand", info->name);
  return add_list(ps, f) < 0 ? no_memory(err) : 0;
}

static int add_contents(const struct oc_key_request *req, struct oc_key_parts *ps,
                        struct oc_error *err)
{
  size_t n = 0;
  const struct oc_flag_info *table = oc_flag_table(&n);

  for (size_t i = 0; i < n; i++) {
    const struct oc_flag_info *info = &table[i];
    if (info->key != OC_FLAG_KEY_CONTENT || oc_streq(info->name, "model") ||
        !oc_flags_get(req->flags, info->name))
      continue;
    int rc = add_file(req, ps, info, err);
    if (rc < 0)
      return rc;
  }
  return 0;
}

static int add_options(const struct oc_key_request *req, struct oc_key_parts *ps)
{
  struct oc_flag_normal *normal = NULL;
  size_t n = 0;
  int rc = oc_flags_normal(req->flags, ps->arena, &normal, &n);

  for (size_t i = 0; i < n && rc == 0; i++)
    rc = oc_key_add_value(ps, normal[i].name, normal[i].value);
  if (rc == 0)
    rc = oc_key_add_value(ps, "strict_lists", req->strict_lists ? "true" : "false");
  return rc;
}

int oc_key_build(const struct oc_key_request *req, struct oc_key_parts *ret,
                 struct oc_error *err)
{
  const struct oc_flag_info *model = oc_flag_find("model");

  if (add_backend(req, ret) < 0)
    return no_memory(err);
  if (model && oc_flags_get(req->flags, "model")) {
    int rc = add_file(req, ret, model, err);
    if (rc < 0)
      return rc;
  }
  if (add_external(req, ret) < 0)
    return no_memory(err);
  int rc = add_contents(req, ret, err);
  if (rc < 0)
    return rc;
  return add_options(req, ret) < 0 ? no_memory(err) : 0;
}
