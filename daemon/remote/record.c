/* A record: an entry as an ActionResult, and back.
 *
 * Members are the action's output files, captured output its stdout and stderr, what only
 * we understand is one Any. Nothing is inline: servers that check a record look whether
 * all it names is there, and that is what makes the record worth something.
 *
 * Reading believes nothing: names must stay inside of a directory, sizes under the limit,
 * kinds be known, and the record must say that it was made for this key. */
#include "remote/remote_internal.h"

#include <string.h>

#include "base/limits.h"
#include "base/str.h"
#include "messages/messages.h"
#include "remote.pb-c.h"

#define FORMAT      1
#define TYPE_URL    "type.googleapis.com/omcc.remote.v1.Entry"
#define REPORT_PATH ".omcc/report"
#define PARTS_PATH  ".omcc/parts"
#define MODE_BITS   0777u

/* ---------------------------------------------------------------- writing */

struct packing {
  struct oc_arena arena;
  Omcc__Remote__V1__ActionResult result;
  Omcc__Remote__V1__Entry entry;
  bool failed;
};

static Omcc__Remote__V1__Digest *pack_digest(struct packing *p,
                                             const struct oc_remote_member *m)
{
  Omcc__Remote__V1__Digest *d = OC_NEW(&p->arena, Omcc__Remote__V1__Digest);
  char *hex = oc_arena_alloc(&p->arena, OC_SHA256_TEXT);

  if (!d || !hex)
    return NULL;
  omcc__remote__v1__digest__init(d);
  oc_hex(m->sha256, OC_SHA256_LEN, hex);
  d->hash = hex;
  d->size_bytes = (int64_t)m->size;
  return d;
}

static const char *path_of(const struct oc_remote_member *m)
{
  if (oc_streq(m->kind, "report"))
    return REPORT_PATH;
  return oc_streq(m->kind, "parts") ? PARTS_PATH : m->name;
}

static void pack_file(struct packing *p, const struct oc_remote_member *m)
{
  Omcc__Remote__V1__OutputFile *f = OC_NEW(&p->arena, Omcc__Remote__V1__OutputFile);
  Omcc__Remote__V1__Output *out = OC_NEW(&p->arena, Omcc__Remote__V1__Output);
  Omcc__Remote__V1__Digest *d = pack_digest(p, m);

  if (!f || !out || !d) {
    p->failed = true;
    return;
  }
  omcc__remote__v1__output_file__init(f);
  omcc__remote__v1__output__init(out);
  f->path = (char *)path_of(m);
  f->digest = d;
  f->is_executable = (m->mode & 0100) != 0;
  out->kind = (char *)m->kind;
  out->mode = m->mode;
  p->result.output_files[p->result.n_output_files++] = f;
  p->entry.outputs[p->entry.n_outputs++] = out;
}

static void pack_entry(struct packing *p, const struct oc_remote_entry *e)
{
  Omcc__Remote__V1__Entry *m = &p->entry;

  omcc__remote__v1__entry__init(m);
  m->format = FORMAT;
  m->key.data = (uint8_t *)e->key;
  m->key.len = OC_SHA256_LEN;
  if (e->has_plan_key) {
    m->plan_key.data = (uint8_t *)e->plan_key;
    m->plan_key.len = OC_SHA256_LEN;
  }
  m->model = (char *)e->facts.model;
  m->soc = (char *)e->facts.soc;
  m->backend = (char *)e->facts.backend;
  m->mode = (char *)e->facts.mode;
  m->table_id = (char *)e->facts.table_id;
  m->toolkit = (char *)e->facts.toolkit;
  m->device_ready = e->facts.device_ready;
  m->compile_ms = e->facts.compile_ms;
  m->peak_rss_bytes = e->facts.peak_rss_bytes;
  m->tool_exit = e->facts.tool_exit;
  m->outputs = OC_NEW_N(&p->arena, Omcc__Remote__V1__Output *, e->n_members + 1);
  p->result.output_files =
      OC_NEW_N(&p->arena, Omcc__Remote__V1__OutputFile *, e->n_members + 1);
  p->failed = !m->outputs || !p->result.output_files;
  for (size_t i = 0; i < e->n_members && !p->failed; i++) {
    const struct oc_remote_member *member = &e->members[i];

    if (!member->size)
      continue;
    if (oc_streq(member->kind, "stdout"))
      p->result.stdout_digest = pack_digest(p, member);
    else if (oc_streq(member->kind, "stderr"))
      p->result.stderr_digest = pack_digest(p, member);
    else
      pack_file(p, member);
  }
}

int remote_record_pack(const struct oc_remote_entry *e, struct oc_buf *out)
{
  Omcc__Remote__V1__ExecutedActionMetadata meta =
      OMCC__REMOTE__V1__EXECUTED_ACTION_METADATA__INIT;
  Omcc__Remote__V1__Any any = OMCC__REMOTE__V1__ANY__INIT, *anys[] = { &any };
  struct packing p = { .failed = false };
  struct oc_buf own;
  int r = OC_E_NOMEM;

  oc_arena_init(&p.arena, REMOTE_RECORD_CAP);
  oc_buf_init(&own, REMOTE_RECORD_CAP);
  omcc__remote__v1__action_result__init(&p.result);
  pack_entry(&p, e);
  if (!p.failed && !p.arena.failed)
    r = oc_message_pack(&p.entry, &own);
  any.type_url = (char *)TYPE_URL;
  any.value.data = own.data;
  any.value.len = own.len;
  meta.worker = (char *)"omcc";
  meta.auxiliary_metadata = anys;
  meta.n_auxiliary_metadata = 1;
  p.result.execution_metadata = &meta;
  if (!r)
    r = oc_message_pack(&p.result, out);
  oc_buf_clear(&own);
  oc_arena_clear(&p.arena);
  return r;
}

/* ---------------------------------------------------------------- reading */

/* Relative, without "." and "..", of printable bytes: it becomes a file's name. */
static bool is_safe_name(const char *name)
{
  if (!*name || strlen(name) > 200)
    return false;
  for (const char *p = name; *p;) {
    size_t len = strcspn(p, "/");

    if (!len || (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.'))))
      return false;
    for (size_t i = 0; i < len; i++)
      if ((unsigned char)p[i] < ' ' || p[i] == 0x7f)
        return false;
    p += len;
    if (*p && !*++p)
      return false;
  }
  return true;
}

static bool is_kind(const char *kind)
{
  static const char *const kinds[] = { "artifact", "side", "report", "parts" };

  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (oc_streq(kind, kinds[i]))
      return true;
  return false;
}

static bool add_member(struct oc_remote_entry *e, const Omcc__Remote__V1__Digest *d,
                       const char *name, const char *kind, uint32_t mode)
{
  struct oc_remote_member *m = &e->members[e->n_members];

  if (!d || d->size_bytes <= 0 || !oc_unhex(d->hash, m->sha256, OC_SHA256_LEN))
    return false;
  m->name = name;
  m->kind = kind;
  m->mode = mode & MODE_BITS;
  m->size = (uint64_t)d->size_bytes;
  m->file.fd = -1;
  e->n_members++;
  return true;
}

static bool name_taken(const struct oc_remote_entry *e, const char *name)
{
  for (size_t i = 0; i < e->n_members; i++)
    if (oc_streq(e->members[i].name, name))
      return true;
  return false;
}

/* False: something about the files is not as we write it. */
static bool read_files(const Omcc__Remote__V1__ActionResult *r,
                       const Omcc__Remote__V1__Entry *own, struct oc_remote_entry *e)
{
  size_t n_artifacts = 0;

  for (size_t i = 0; i < r->n_output_files; i++) {
    const Omcc__Remote__V1__OutputFile *f = r->output_files[i];
    const char *kind = own->outputs[i]->kind;
    const char *name =
        oc_streq(kind, "report") || oc_streq(kind, "parts") ? kind : f->path;

    if (!is_kind(kind) || !is_safe_name(name) || name_taken(e, name) ||
        !add_member(e, f->digest, name, kind, own->outputs[i]->mode))
      return false;
    n_artifacts += oc_streq(kind, "artifact");
  }
  if (r->stdout_digest && !add_member(e, r->stdout_digest, "stdout", "stdout", 0600))
    return false;
  if (r->stderr_digest && !add_member(e, r->stderr_digest, "stderr", "stderr", 0600))
    return false;
  return n_artifacts > 0;
}

static bool sizes_fit(const struct oc_remote_entry *e, uint64_t max_bytes)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < e->n_members; i++) {
    const struct oc_remote_member *m = &e->members[i];
    bool object = oc_streq(m->kind, "artifact") || oc_streq(m->kind, "side");

    if (!object && m->size > REMOTE_MEMORY_CAP)
      return false;
    if (__builtin_add_overflow(sum, m->size, &sum) || (max_bytes && sum > max_bytes))
      return false;
  }
  return true;
}

static const Omcc__Remote__V1__Any *own_part(const Omcc__Remote__V1__ActionResult *r)
{
  const Omcc__Remote__V1__ExecutedActionMetadata *meta = r->execution_metadata;

  for (size_t i = 0; meta && i < meta->n_auxiliary_metadata; i++)
    if (oc_streq(meta->auxiliary_metadata[i]->type_url, TYPE_URL))
      return meta->auxiliary_metadata[i];
  return NULL;
}

static void read_facts(const Omcc__Remote__V1__Entry *m, struct oc_remote_entry *e)
{
  e->has_plan_key = m->plan_key.len == OC_SHA256_LEN;
  if (e->has_plan_key)
    memcpy(e->plan_key, m->plan_key.data, OC_SHA256_LEN);
  e->facts = (struct oc_remote_facts){ .model = m->model,
                                       .soc = m->soc,
                                       .backend = m->backend,
                                       .mode = m->mode,
                                       .table_id = m->table_id,
                                       .toolkit = m->toolkit,
                                       .device_ready = m->device_ready,
                                       .compile_ms = m->compile_ms,
                                       .peak_rss_bytes = m->peak_rss_bytes,
                                       .tool_exit = m->tool_exit };
}

int remote_record_unpack(const void *p, size_t len, const uint8_t key[OC_SHA256_LEN],
                         uint64_t max_bytes, struct oc_arena *arena,
                         struct oc_remote_entry *ret, const char **ret_why)
{
  const Omcc__Remote__V1__ActionResult *r;
  const Omcc__Remote__V1__Entry *own;
  const Omcc__Remote__V1__Any *any;
  struct oc_remote_entry e = { .n_members = 0 };
  ProtobufCMessage *m;

  *ret_why = "it is no ActionResult";
  if (oc_message_unpack(&omcc__remote__v1__action_result__descriptor, p, len, arena, &m,
                        NULL))
    return 0;
  r = (const Omcc__Remote__V1__ActionResult *)m;
  any = own_part(r);
  *ret_why = "it is not omcc's";
  if (!any || oc_message_unpack(&omcc__remote__v1__entry__descriptor, any->value.data,
                                any->value.len, arena, &m, NULL))
    return 0;
  own = (const Omcc__Remote__V1__Entry *)m;
  *ret_why = "it has another format";
  if (own->format != FORMAT)
    return 0;
  *ret_why = "it was made for another key";
  if (own->key.len != OC_SHA256_LEN || memcmp(own->key.data, key, OC_SHA256_LEN) != 0)
    return 0;
  *ret_why = "its files are not as omcc writes them";
  if (r->exit_code || own->n_outputs != r->n_output_files ||
      r->n_output_files + 2 > REMOTE_MOST_MEMBERS)
    return 0;
  e.members = OC_NEW_N(arena, struct oc_remote_member, REMOTE_MOST_MEMBERS);
  if (!e.members || !read_files(r, own, &e))
    return 0;
  *ret_why = "it is larger than the limit";
  if (!sizes_fit(&e, max_bytes))
    return 0;
  memcpy(e.key, key, OC_SHA256_LEN);
  read_facts(own, &e);
  *ret = e;
  return 1;
}
