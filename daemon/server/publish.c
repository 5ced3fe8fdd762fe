/* From an output to a result: sealed, digested, answered, then stored.
 *
 * Sealing and digesting happen on a digest thread, over all members of the result at
 * once. The worker may still hold its descriptor for the moment it needs to exit, so
 * sealing is tried again for a while; a descriptor that stays open for writing means that
 * the bytes may still change, and such a result is not delivered. A plan's twin and a
 * known object are ready at once: their bytes have been through this already. */
#include "server/server_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define SEAL_TRIES    2000 /* times one millisecond */
#define COPY_CHUNK    (1u << 20)
#define ARTIFACT_NAME "model.om"
#define ARTIFACT_MODE 0600

/* One member on its way. */
struct part {
  int from; /* a file of the compiler's, borrowed from the order; -1: `output` has it */
  bool keep_inline;
  struct oc_cache_output output;
  void *data;
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
};

struct gather {
  struct task task;
  const char *spare;             /* why an output is not in the cache */
  bool tool_changed;             /* the toolkit is not the one of the key any more */
  char changed[300];             /* what changed in a folder of the key; "": nothing */
  uint64_t expected;             /* size the worker announced, 0: unknown */
  bool is_om;                    /* must begin with the format's magic */
  struct oc_cache_member object; /* of the store, when that is what is published */
  size_t n;
  struct part parts[];
};

/* ---------------------------------------------------------------- on a thread */

static int seal(struct oc_cache_output *out, atomic_bool *cancel, struct oc_error *err)
{
  struct timespec ms = { .tv_nsec = 1000000 };
  int r = OC_E_BUSY;

  for (int i = 0; i < SEAL_TRIES && r == OC_E_BUSY && !atomic_load(cancel); i++) {
    if (i)
      nanosleep(&ms, NULL);
    r = oc_cache_output_seal(out, err);
  }
  return r;
}

static int copy_plain(int from, int to, struct oc_error *err)
{
  auto_free uint8_t *chunk = malloc(COPY_CHUNK);
  off_t at = 0;

  if (!chunk)
    return oc_error_set(err, OC_E_NOMEM, "no memory to copy a result");
  for (;;) {
    ssize_t n = pread(from, chunk, COPY_CHUNK, at);

    if (n < 0)
      return oc_error_errno(err, OC_E_IO, "cannot read a result of the compiler");
    if (!n)
      return 0;
    if (pwrite(to, chunk, (size_t)n, at) != n)
      return oc_error_errno(err, OC_E_IO, "cannot write a result into the cache");
    at += n;
  }
}

static int copy_file(int from, int to, struct oc_error *err)
{
  loff_t in = 0, out = 0;
  ssize_t n;

  do {
    n = copy_file_range(from, &in, to, &out, (size_t)1 << 30, 0);
  } while (n > 0);
  return n < 0 || !out ? copy_plain(from, to, err) : 0;
}

static int read_inline(struct part *p, struct oc_error *err)
{
  p->data = malloc(p->size + 1);
  if (!p->data)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a result");
  if (pread(p->from, p->data, p->size, 0) != (ssize_t)p->size)
    return oc_error_errno(err, OC_E_IO, "cannot read a result of the compiler");
  if (oc_sha256_bytes(p->data, p->size, p->sha256))
    return oc_error_set(err, OC_E_NOMEM, "no memory for a digest");
  return 0;
}

static int take_in(struct gather *g, struct part *p, struct oc_error *err)
{
  struct oc_server *s = g->task.order->srv;
  const char *spare;
  struct stat st;
  int r;

  if (fstat(p->from, &st) || !S_ISREG(st.st_mode))
    return oc_error_set(err, OC_E_IO, "a result of the compiler is no regular file");
  p->size = (uint64_t)st.st_size;
  if (p->keep_inline && p->size <= OC_INLINE_MEMBER)
    return read_inline(p, err);
  r = output_open(s, p->size, &p->output, &spare, err);
  if (spare)
    g->spare = spare;
  if (!r && copy_file(p->from, p->output.fd, err) == 0)
    return 0;
  if (r || spare)
    return r ? r : OC_E_IO;
  g->spare = SPARE_FULL;
  oc_cache_output_clear(&p->output);
  r = output_elsewhere(p->size, &p->output, err);
  return r ? r : copy_file(p->from, p->output.fd, err);
}

static int check_front(const struct gather *g, const struct part *p, struct oc_error *err)
{
  char magic[4] = "";

  if (g->expected && p->size != g->expected)
    return oc_error_set(err, OC_E_FORMAT, "the output has %llu bytes, not %llu",
                        (unsigned long long)p->size, (unsigned long long)g->expected);
  if (g->is_om && (pread(p->output.fd, magic, sizeof(magic), 0) != sizeof(magic) ||
                   memcmp(magic, "IMOD", sizeof(magic))))
    return oc_error_set(err, OC_E_FORMAT, "the output is not an .om file");
  return 0;
}

static int prepare(struct gather *g, struct part *p, struct oc_error *err)
{
  int r = p->from >= 0 ? take_in(g, p, err) : 0;

  if (r || p->data)
    return r;
  r = seal(&p->output, &g->task.cancel, err);
  if (!r)
    r = oc_sha256_fd(p->output.fd, &g->task.cancel, p->sha256, &p->size, err);
  return r ? r : check_front(g, p, err);
}

static void run_gather(struct task *t)
{
  struct gather *g = (struct gather *)t;

  for (size_t i = 0; i < g->n && !t->code; i++)
    t->code = prepare(g, &g->parts[i], &t->err);
  g->tool_changed = oc_streq(t->order->backend, "atc") && !t->order->uncached &&
                    !tool_look_again(t->order);
  if (folders_unchanged(t->order, g->changed, sizeof(g->changed)))
    *g->changed = '\0';
}

/* ---------------------------------------------------------------- on the loop */

static void gather_free(struct gather *g)
{
  for (size_t i = 0; i < g->n; i++) {
    oc_cache_output_clear(&g->parts[i].output);
    free(g->parts[i].data);
  }
  free(g);
}

static int add_part(struct order *o, struct part *p, const char *name, const char *kind,
                    uint32_t mode)
{
  struct member *m = order_add_member(o, name, kind, mode);

  if (!m)
    return OC_E_NOMEM;
  m->size = p->size;
  memcpy(m->sha256, p->sha256, sizeof(m->sha256));
  if (p->data) {
    m->data = oc_arena_memdup(&o->arena, p->data, p->size);
    return m->data ? 0 : OC_E_NOMEM;
  }
  m->output = p->output;
  p->output = (struct oc_cache_output){ .fd = -1 };
  m->fd = fcntl(m->output.fd, F_DUPFD_CLOEXEC, 0);
  return m->fd < 0 ? OC_E_IO : 0;
}

static int add_parts(struct order *o, struct gather *g)
{
  int r = 0;

  if (!o->n_incoming)
    return add_part(o, &g->parts[0], ARTIFACT_NAME, "artifact", ARTIFACT_MODE);
  for (size_t i = 0; i < g->n && !r; i++)
    r = add_part(o, &g->parts[i], o->incoming[i].name, o->incoming[i].kind,
                 o->incoming[i].mode ? o->incoming[i].mode : ARTIFACT_MODE);
  return r;
}

/* Says in time for the answer whether the result will be stored. */
void publish_decide_storing(struct order *o)
{
  const char *changed = o->folder_changed;

  o->stored = "no";
  o->stored_reason = o->uncached;
  if (o->uncached)
    return;
  if (o->spare || o->srv->through) {
    o->stored_reason = o->spare ? o->spare : o->srv->cache_trouble;
    if (o->spare)
      cache_trouble(o->srv, o->spare);
    order_log(o, OC_LOG_WARNING, "not_stored", o->stored_reason);
    return;
  }
  if (o->tool_changed) {
    o->stored_reason = "the toolkit changed while it compiled";
    order_log(o, OC_LOG_WARNING, "toolkit_changed", o->stored_reason);
    return;
  }
  if (!changed && order_inputs_unchanged(o, &changed)) {
    o->stored = "pending";
    o->stored_reason = "";
    return;
  }
  oc_counter_add(&o->srv->count, OC_COUNT_INPUTS_CHANGED, 1);
  oc_finding_add(&o->findings, OC_FINDING_INPUT_CHANGED, changed, NULL);
  o->stored_reason = "an input changed while it was compiled";
  order_log(o, OC_LOG_WARNING, "input_changed", changed);
}

static void gather_done(struct task *t)
{
  struct gather *g = (struct gather *)t;
  struct order *o = t->order;
  bool ok = !t->code;

  o->gather = NULL;
  if (o->forgotten) {
    gather_free(g);
    return;
  }
  if (ok && add_parts(o, g)) {
    ok = false;
    oc_error_set(&t->err, OC_E_NOMEM, "no memory for the result");
  }
  o->tool_changed = g->tool_changed;
  o->folder_changed = *g->changed ? oc_arena_strdup(&o->arena, g->changed) : NULL;
  if (g->spare)
    o->spare = g->spare;
  if (ok) {
    publish_decide_storing(o);
  } else {
    order_drop_members(o);
    order_log(o, OC_LOG_ERROR, "not_published", t->err.msg);
    order_set_failure(o, t->code == OC_E_IO ? OC_STATUS_ENVIRONMENT : OC_STATUS_BUG, "%s",
                      t->err.msg);
  }
  gather_free(g);
  oc_flow_published(o->srv->flow, server_now_ns(), o->job, ok);
}

static struct gather *gather_new(struct order *o, size_t n)
{
  struct gather *g = calloc(1, sizeof(*g) + n * sizeof(g->parts[0]));

  if (!g)
    return NULL;
  g->task.order = o;
  g->task.uid = o->uid;
  g->task.run = run_gather;
  g->task.done = gather_done;
  g->n = n;
  for (size_t i = 0; i < n; i++) {
    g->parts[i].from = -1;
    g->parts[i].output.fd = -1;
  }
  return g;
}

int publish_built(struct order *o)
{
  struct gather *g = gather_new(o, o->n_incoming ? o->n_incoming : 1);

  if (!g)
    return OC_E_NOMEM;
  if (o->n_incoming) {
    for (size_t i = 0; i < g->n; i++) {
      g->parts[i].from = o->incoming[i].fd;
      g->parts[i].keep_inline = !oc_streq(o->incoming[i].kind, "artifact");
      if (o->incoming[i].fd >= 0)
        continue;
      g->parts[i].size = o->incoming[i].len;
      g->parts[i].data = malloc(o->incoming[i].len + 1);
      if (!g->parts[i].data ||
          oc_sha256_bytes(o->incoming[i].data, o->incoming[i].len, g->parts[i].sha256)) {
        gather_free(g);
        return OC_E_NOMEM;
      }
      memcpy(g->parts[i].data, o->incoming[i].data, o->incoming[i].len);
    }
  } else {
    g->expected = o->om_size;
    g->is_om = true;
    g->parts[0].output = o->building;
    o->building = (struct oc_cache_output){ .fd = -1 };
  }
  o->gather = g;
  digester_add(o->srv, &g->task);
  return 0;
}

void publish_cancel(struct order *o)
{
  if (o->gather)
    atomic_store(&o->gather->task.cancel, true);
}

static void run_object_proof(struct task *t)
{
  struct gather *g = (struct gather *)t;

  if (oc_cache_prove_member(t->order->srv->cache, &g->object, &t->cancel) != 1)
    t->code = OC_E_FORMAT;
}

static void finish_plan_hit(struct order *o)
{
  o->hit_kind = "plan";
  o->compile_ms = (server_now_ns() - o->work_started_ns) / 1000000;
  publish_decide_storing(o);
}

/* A damaged object is none: flow then lets the order be built. */
static void object_proof_done(struct task *t)
{
  struct gather *g = (struct gather *)t;
  struct order *o = t->order;
  bool ok = !t->code;

  o->gather = NULL;
  gather_free(g);
  if (o->forgotten)
    return;
  if (ok)
    finish_plan_hit(o);
  else
    order_drop_members(o);
  oc_flow_published(o->srv->flow, server_now_ns(), o->job, ok);
}

/* The bytes are looked at on a thread before anybody gets them. */
static bool want_proof(struct order *o, const struct oc_cache_member *found)
{
  struct gather *g = gather_new(o, 0);

  if (!g)
    return false;
  g->task.run = run_object_proof;
  g->task.done = object_proof_done;
  g->object =
      *found; /* the descriptor is the member's, which stays as long as the order */
  o->gather = g;
  return true;
}

bool publish_object_known(struct order *o, const uint8_t *plan_key)
{
  struct oc_cache_member found;
  struct member *m;

  order_drop_members(o);
  if (o->uncached || oc_cache_find_plan(o->srv->cache, plan_key, &o->arena, &found) != 1)
    return false;
  m = order_add_member(o, ARTIFACT_NAME, "artifact",
                       found.mode ? found.mode : ARTIFACT_MODE);
  if (!m) {
    oc_close_fd(&found.fd);
    return false;
  }
  m->size = found.size;
  memcpy(m->sha256, found.sha256, sizeof(m->sha256));
  m->fd = found.fd;
  m->object = true;
  m->held = oc_cache_hold(o->srv->cache, m->sha256); /* a row will name it */
  return !found.unproven || want_proof(o, &found);
}

int publish_object(struct order *o)
{
  if (o->gather) {
    digester_add(o->srv, &o->gather->task);
    return 0;
  }
  finish_plan_hit(o);
  return 1;
}

int publish_twin(struct order *o, struct order *twin)
{
  order_drop_members(o);
  for (size_t i = 0; i < twin->n_members; i++) {
    const struct member *from = &twin->members[i];
    struct member *m = order_add_member(o, from->name, from->kind, from->mode);

    if (!m)
      return OC_E_NOMEM;
    m->size = from->size;
    m->object = true;
    memcpy(m->sha256, from->sha256, sizeof(m->sha256));
    m->data = from->data ? oc_arena_memdup(&o->arena, from->data, from->size) : NULL;
    m->fd = from->fd >= 0 ? fcntl(from->fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (!m->data && m->fd < 0)
      return OC_E_IO;
  }
  o->peak_rss_bytes = twin->peak_rss_bytes;
  o->device_ready = twin->device_ready;
  finish_plan_hit(o);
  if (oc_streq(twin->stored, "no") && oc_streq(o->stored, "pending")) {
    o->stored = "no"; /* its row would name an object that will not be there */
    o->stored_reason = twin->stored_reason;
  }
  return 1;
}
