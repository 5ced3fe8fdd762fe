/* Header and partition tables.
 *
 * Loaders ignore the offsets in a table and add up the sizes; so do we, and so a file is
 * read the way it would be loaded. Bundles are the exception: their offsets count from
 * the end of the header and include the table. */
#include <string.h>

#include "om_internal.h"

#define WIDE_HEAD    8
#define WIDE_ENTRY   24
#define NARROW_HEAD  4
#define NARROW_ENTRY 12
/* Flow and bundle files list one partition per nested model. */
#define MAX_PARTS_FLOW 4096
#define MAX_MODELS     4096

static void copy_text(char *to, const uint8_t *from, size_t size)
{
  memcpy(to, from, size);
  to[size] = '\0';
}

static void read_header(const uint8_t *b, struct oc_om_header *h)
{
  memset(h, 0, sizeof *h);
  h->version = om_get32(b + 8);
  h->length = om_get32(b + 76);
  h->is_encrypt = b[80];
  h->is_checksum = b[81];
  h->modeltype = b[82];
  h->genmode = b[83];
  copy_text(h->name, b + 84, 32);
  h->ops = om_get32(b + 116);
  copy_text(h->userdefineinfo, b + 120, 32);
  h->om_ir_version = om_get32(b + 152);
  if (h->version >= OC_OM_VERSION_NEW) {
    h->model_num = om_get32(b + 156);
    copy_text(h->platform_version, b + 160, 20);
    h->platform_type = b[180];
    h->model_length = om_get64(b + 184);
    h->need_check_os_cpu_info = b[192];
    h->is_unknown_model = b[193];
  } else {
    h->model_num = 1;
    copy_text(h->platform_version, b + 156, 20);
    h->platform_type = b[176];
  }
}

static int check_header(const struct oc_om_file *f, const uint8_t *b,
                        struct oc_error *err)
{
  const struct oc_om_header *h = &f->header;
  uint64_t body = h->model_length ? h->model_length : h->length;

  if (om_get32(b) != OC_OM_MAGIC)
    return oc_error_set(err, OC_E_FORMAT,
                        "the file does not begin with 'IMOD', so it is no .om file");
  if (h->is_encrypt == 1)
    return oc_error_set(err, OC_E_FORMAT, "the .om file is encrypted");
  if (!f->bundle && body != f->source.size - OC_OM_HEADER_SIZE)
    return oc_error_set(err, OC_E_FORMAT,
                        "the header says %llu bytes follow it, the file has %llu",
                        (unsigned long long)body,
                        (unsigned long long)(f->source.size - OC_OM_HEADER_SIZE));
  return 0;
}

/* One table at `at`; `*ret_end` is the byte behind its last partition. */
static int read_table(const struct oc_om_file *f, uint64_t at, struct oc_arena *arena,
                      struct oc_om_model *m, uint64_t *ret_end, struct oc_error *err)
{
  size_t head = f->wide_table ? WIDE_HEAD : NARROW_HEAD;
  size_t entry = f->wide_table ? WIDE_ENTRY : NARROW_ENTRY;
  bool flow = f->bundle || (f->header.modeltype == OC_OM_TYPE_FLOW && f->wide_table);
  uint32_t limit = flow ? MAX_PARTS_FLOW : OC_OM_MAX_PARTS;
  uint8_t b[WIDE_ENTRY];
  int rc = oc_om_source_read(&f->source, at, b, 4, err);

  if (rc < 0)
    return rc;
  m->table_at = at;
  m->n_parts = om_get32(b);
  if (m->n_parts < 1 || m->n_parts > limit)
    return oc_error_set(err, OC_E_FORMAT,
                        "a partition table lists %u partitions, 1 to %u are possible",
                        m->n_parts, limit);
  m->parts = OC_NEW_N(arena, struct oc_om_part, m->n_parts);
  if (!m->parts)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  uint64_t next = at + head + entry * (uint64_t)m->n_parts;
  for (uint32_t i = 0; i < m->n_parts; i++) {
    struct oc_om_part *p = &m->parts[i];
    rc = oc_om_source_read(&f->source, at + head + entry * (uint64_t)i, b, entry, err);
    if (rc < 0)
      return rc;
    p->type = om_get32(b);
    p->size = f->wide_table ? om_get64(b + 16) : om_get32(b + 8);
    p->at = f->bundle ? OC_OM_HEADER_SIZE + om_get64(b + 8) : next;
    if (p->at < OC_OM_HEADER_SIZE || p->at > f->source.size ||
        p->size > f->source.size - p->at)
      return oc_error_set(err, OC_E_FORMAT,
                          "partition %u (type %u) does not lie inside the file", i,
                          p->type);
    next = p->at + p->size;
  }
  *ret_end = next;
  return 0;
}

static int read_tables(struct oc_om_file *f, struct oc_arena *arena, struct oc_error *err)
{
  const struct oc_om_header *h = &f->header;
  bool dynamic = h->version >= OC_OM_VERSION_NEW && !f->bundle &&
                 h->modeltype != OC_OM_TYPE_FLOW &&
                 (h->model_num > 1 || h->is_unknown_model == 1);
  uint64_t at = OC_OM_HEADER_SIZE;

  f->n_models = dynamic ? h->model_num : 1;
  if (f->n_models < 1 || f->n_models > MAX_MODELS)
    return oc_error_set(err, OC_E_FORMAT,
                        "the header says %u models, 1 to %d are possible", f->n_models,
                        MAX_MODELS);
  f->models = OC_NEW_N(arena, struct oc_om_model, f->n_models);
  if (!f->models)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  for (uint32_t i = 0; i < f->n_models; i++) {
    int rc = read_table(f, at, arena, &f->models[i], &at, err);
    if (rc < 0)
      return rc;
  }
  if (!f->bundle && at != f->source.size)
    return oc_error_set(err, OC_E_FORMAT, "%llu bytes are left behind the last partition",
                        (unsigned long long)(f->source.size - at));
  return 0;
}

int oc_om_open(struct oc_om_source source, struct oc_arena *arena,
               struct oc_om_file **ret, struct oc_error *err)
{
  uint8_t b[OC_OM_HEADER_SIZE];
  struct oc_om_file *f = OC_NEW(arena, struct oc_om_file);

  if (!f)
    return oc_error_set(err, OC_E_NOMEM, "not enough memory");
  if (source.size < OC_OM_HEADER_SIZE)
    return oc_error_set(err, OC_E_FORMAT,
                        "the file has %llu bytes, an .om header alone has 256",
                        (unsigned long long)source.size);
  f->source = source;
  int rc = oc_om_source_read(&source, 0, b, sizeof b, err);
  if (rc < 0)
    return rc;
  read_header(b, &f->header);
  bool v2 = f->header.version >= OC_OM_VERSION_NEW;
  f->bundle = v2 && f->header.modeltype == OC_OM_TYPE_BUNDLE;
  f->wide_table = f->header.model_length != 0 ||
                  (v2 && (f->header.modeltype == OC_OM_TYPE_FLOW || f->bundle));
  rc = check_header(f, b, err);
  if (rc < 0)
    return rc;
  rc = read_tables(f, arena, err);
  if (rc < 0)
    return rc;
  *ret = f;
  return 0;
}

const struct oc_om_part *oc_om_find_part(const struct oc_om_model *m, uint32_t type)
{
  for (uint32_t i = 0; i < m->n_parts; i++)
    if (m->parts[i].type == type)
      return &m->parts[i];
  return NULL;
}

int oc_om_load_part(const struct oc_om_file *f, const struct oc_om_part *p,
                    struct oc_arena *arena, struct oc_str *ret, struct oc_error *err)
{
  if (f->source.data) {
    *ret = (struct oc_str){ (const char *)f->source.data + p->at, (size_t)p->size };
    return 0;
  }
  void *copy = oc_arena_alloc(arena, (size_t)p->size);
  if (!copy)
    return oc_error_set(err, OC_E_NOMEM,
                        "not enough memory for a partition of %llu bytes",
                        (unsigned long long)p->size);
  int rc = oc_om_source_read(&f->source, p->at, copy, (size_t)p->size, err);
  if (rc < 0)
    return rc;
  *ret = (struct oc_str){ copy, (size_t)p->size };
  return 0;
}
