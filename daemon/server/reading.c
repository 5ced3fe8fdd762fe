/* READING: from files to digests, and to the files that a model names.
 *
 * Nothing here waits. Each thing that becomes known (a digest, a list of names, files
 * from the client) is one call of step(), which does whatever has become possible; the
 * key is built once nothing is missing. What is unchanged since it was last digested
 * costs a look into the memo. A large model that must be read anyway is planned
 * meanwhile, when a worker is free. */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* From this on digesting takes long enough to plan beside it. */
#define SCOUT_BYTES (8u << 20)
/* Lists up to this are digested at once: a thread would cost more. */
#define INLINE_DIGEST (256u << 10)

struct digest {
  struct task task;
  struct input *input;
  uint8_t sha256[OC_SHA256_LEN];
};

static void step(struct order *o);

static void run_digest(struct task *t)
{
  struct digest *d = (struct digest *)t;
  struct input *in = d->input;
  struct oc_cache_seen before = in->seen;

  if (!in->list)
    oc_cache_see_writers(in->fd, &before);
  t->code = oc_sha256_fd(in->fd, &t->cancel, d->sha256, NULL, &t->err);
  if (!t->code && !in->list)
    oc_cache_memo_put(t->order->srv->cache, in->fd, &before, d->sha256);
}

static void digest_done(struct task *t)
{
  struct digest *d = (struct digest *)t;
  struct order *o = t->order;
  struct input *in = d->input;

  in->task = NULL;
  if (!o->forgotten && t->code) {
    order_set_failure(o, OC_STATUS_REQUEST, "%s", t->err.msg);
    oc_flow_give_up(o->srv->flow, server_now_ns(), o->job, OC_FAIL_REQUEST);
  } else if (!o->forgotten) {
    memcpy(in->sha256, d->sha256, sizeof(in->sha256));
    in->digested = true;
    order_hold(o);
    step(o);
    order_drop(o);
  }
  free(d);
}

static void start_digest(struct order *o, struct input *in)
{
  struct digest *d;

  if (in->digested || in->task)
    return;
  if (in->list && in->len <= INLINE_DIGEST)
    in->digested = !oc_sha256_bytes(in->bytes, in->len, in->sha256);
  else if (!in->list)
    in->digested = oc_cache_memo_get(o->srv->cache, in->fd, &in->seen, in->sha256) == 1;
  if (in->digested)
    return;
  d = calloc(1, sizeof(*d));
  if (!d) {
    order_set_failure(o, OC_STATUS_DAEMON, "the daemon is short of memory");
    oc_flow_give_up(o->srv->flow, server_now_ns(), o->job, OC_FAIL_INTERNAL);
    return;
  }
  d->task.order = o;
  d->task.uid = o->uid;
  d->task.run = run_digest;
  d->task.done = digest_done;
  d->input = in;
  in->task = &d->task;
  digester_add(o->srv, &d->task);
}

static struct input *model_of(struct order *o)
{
  for (size_t i = 0; i < o->n_files; i++)
    if (oc_streq(o->files[i].flag, "model"))
      return &o->files[i];
  return NULL;
}

static bool all_digested(const struct input *inputs, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (!inputs[i].digested)
      return false;
  return true;
}

static int set_names(struct order *o, const char *const *names, size_t n)
{
  o->external = OC_NEW_N(&o->arena, struct input, n + 1);
  if (!o->external)
    return OC_E_NOMEM;
  for (size_t i = 0; i < n; i++) {
    o->external[i].fd = -1;
    o->external[i].name = oc_arena_strdup(&o->arena, names[i]);
    if (!o->external[i].name)
      return OC_E_NOMEM;
  }
  o->n_external = n;
  o->external_known = true;
  o->external_here = n == 0;
  return 0;
}

/* The names that the cache knows for the model's digest, or a worker's look. */
static void find_names(struct order *o)
{
  struct input *model = model_of(o);
  const char *const *names;
  size_t n;

  if (!model) {
    set_names(o, NULL, 0);
    return;
  }
  if (!model->digested)
    return;
  if (external_names(o, model->sha256, &names, &n) == 1) {
    set_names(o, names, n);
    return;
  }
  if (order_only_asks(o)) {
    if (folders_known(o))
      lookup_unseen(o);
    return;
  }
  oc_flow_scout(o->srv->flow, server_now_ns(), o->job, true);
  if (!o->forgotten)
    reading_without_plan(o);
}

static void ask_client(struct order *o)
{
  struct session *c = server_session(o->srv, o->asker.session);
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;
  Omcc__V1__NeedFiles need = OMCC__V1__NEED_FILES__INIT;
  struct input *model = model_of(o);
  char **names = OC_NEW_N(&o->arena, char *, o->n_external);

  o->external_asked = true;
  if (!c || !names) {
    order_set_failure(o, OC_STATUS_STOPPED,
                      "nobody is left to open the model's external data");
    oc_flow_give_up(o->srv->flow, server_now_ns(), o->job, OC_FAIL_REQUEST);
    return;
  }
  for (size_t i = 0; i < o->n_external; i++)
    names[i] = (char *)o->external[i].name;
  need.input = (char *)(model ? model->name : "");
  need.names = names;
  need.n_names = o->n_external;
  m.id = o->asker.request;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_NEED_FILES;
  m.need_files = &need;
  session_send(c, &m, NULL, 0);
}

static void step(struct order *o)
{
  if (!o->forgotten && !o->external_known && !o->keyed)
    find_names(o);
  if (!o->forgotten && o->external_known && !o->external_here && !o->external_asked)
    ask_client(o);
  if (!o->forgotten && o->worker_waits && o->external_here)
    reading_feed_worker(o);
  if (!o->forgotten && !o->keyed && !o->tool_looking && o->external_known &&
      o->external_here && folders_known(o) && all_digested(o->files, o->n_files) &&
      all_digested(o->external, o->n_external))
    lookup_start(o);
}

void reading_step(struct order *o)
{
  order_hold(o);
  step(o);
  order_drop(o);
}

/* An explanation needs no key: a worker may begin at once. */
static void start_explain(struct order *o)
{
  o->keyed = true;
  o->uncached = "an explanation is not stored";
  oc_flow_keyed(o->srv->flow, server_now_ns(), o->job, NULL);
}

void reading_start(struct order *o)
{
  const char *framework = oc_flags_get(&o->flags, "framework");
  uint64_t bytes = 0;

  order_hold(o);
  /* Only ONNX models name further files that are not flags of their own. */
  if (!oc_streq(framework, OC_FRAMEWORK_ONNX))
    set_names(o, NULL, 0);
  if (o->want == WANT_EXPLAIN) {
    start_explain(o);
    order_drop(o);
    return;
  }
  if (oc_streq(o->backend, "atc") && tool_look_start(o)) {
    order_set_failure(o, OC_STATUS_DAEMON, "the daemon is short of memory");
    oc_flow_give_up(o->srv->flow, server_now_ns(), o->job, OC_FAIL_INTERNAL);
  }
  folders_start(o);
  for (size_t i = 0; i < o->n_files && !o->forgotten; i++) {
    start_digest(o, &o->files[i]);
    if (o->files[i].task)
      bytes += (uint64_t)o->files[i].seen.st.st_size;
  }
  if (!o->forgotten && o->want == WANT_COMPILE && !o->cached_only && bytes >= SCOUT_BYTES)
    oc_flow_scout(o->srv->flow, server_now_ns(), o->job, false);
  step(o);
  order_drop(o);
}

int reading_inputs(struct order *o, const Omcc__V1__Inputs *m, struct oc_error *err)
{
  if (m->n_names > OC_MAX_EXTERNAL_FILES)
    return oc_error_set(err, OC_E_LIMIT,
                        "the model names more than %d external data files",
                        OC_MAX_EXTERNAL_FILES);
  o->worker_waits = m->wait;
  if (!o->external_known && set_names(o, (const char *const *)m->names, m->n_names))
    return oc_error_set(err, OC_E_NOMEM, "no memory for the names of external data");
  o->external_looked = true;
  order_hold(o);
  /* Its plan is for nobody, and must not end the order. */
  if (order_only_asks(o))
    oc_flow_scouted(o->srv->flow, server_now_ns(), o->job);
  step(o);
  order_drop(o);
  return 0;
}

void reading_without_plan(struct order *o)
{
  const struct oc_flow_job *j = oc_flow_job(o->srv->flow, o->job);

  if (o->keyed || o->external_known || !j || !oc_flow_job_plan_over(j))
    return;
  o->external_unsure = true;
  set_names(o, NULL, 0);
  order_hold(o);
  step(o);
  order_drop(o);
}

/* ---------------------------------------------------------------- files from the client
 */

static struct input *find_external(struct order *o, const char *name)
{
  for (size_t i = 0; i < o->n_external; i++)
    if (oc_streq(o->external[i].name, name))
      return &o->external[i];
  return NULL;
}

static void add_missing(struct order *o, const char *name, const char *reason)
{
  struct oc_finding *f = oc_finding_add(&o->findings, OC_FINDING_EXTERNAL_NOT_GIVEN, name,
                                        "reason", reason, NULL);

  f->flag = "model";
}

static const char *reason_text(const char *code)
{
  static const struct {
    const char *code, *text;
  } texts[] = { { "outside", "it lies outside of the model's directory" },
                { "absent", "there is no such file" },
                { "denied", "it may not be read" },
                { "not_regular", "it is not a regular file" } };

  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
    if (oc_streq(code, texts[i].code))
      return texts[i].text;
  return "it could not be opened";
}

static int take_external(struct order *o, const Omcc__V1__ExternalFile *m,
                         struct oc_frame *f, struct oc_error *err)
{
  struct input *in = find_external(o, m->name);
  int fd = oc_frame_take_fd(f, m->fd);

  if (!in || in->fd >= 0 || fd < 0) {
    if (fd >= 0)
      close(fd);
    return oc_error_set(err, OC_E_PROTO, "a client sent external data nobody asked for");
  }
  in->fd = fd;
  if (oc_cache_see(fd, &in->seen))
    add_missing(o, in->name, reason_text("not_regular"));
  return 0;
}

/* All files of the client have come. */
static void take_last(struct order *o, const Omcc__V1__Files *m, size_t findings_before)
{
  for (size_t i = 0; i < m->n_missing && i < m->n_reasons; i++)
    if (find_external(o, m->missing[i]))
      add_missing(o, m->missing[i], reason_text(m->reasons[i]));
  for (size_t i = 0; i < o->n_external && o->findings.n == findings_before; i++)
    if (o->external[i].fd < 0)
      add_missing(o, o->external[i].name, reason_text("absent"));
  if (o->findings.n != findings_before) {
    order_set_failure(o, OC_STATUS_REQUEST, "external data of the model cannot be read");
    oc_flow_give_up(o->srv->flow, server_now_ns(), o->job, OC_FAIL_REQUEST);
    return;
  }
  o->external_here = true;
  for (size_t i = 0; i < o->n_external && !o->forgotten && o->want != WANT_EXPLAIN; i++)
    start_digest(o, &o->external[i]);
  step(o);
}

int reading_files(struct order *o, const Omcc__V1__Files *m, struct oc_frame *f,
                  struct oc_error *err)
{
  size_t findings_before = o->findings.n;

  if (!o->external_asked || o->external_here)
    return oc_error_set(err, OC_E_PROTO, "a client sent external data nobody asked for");
  for (size_t i = 0; i < m->n_files; i++) {
    int r = take_external(o, m->files[i], f, err);

    if (r)
      return r;
  }
  if (!m->last && o->findings.n == findings_before)
    return 0;
  order_hold(o);
  take_last(o, m, findings_before);
  order_drop(o);
  return 0;
}

void reading_feed_worker(struct order *o)
{
  size_t at = 0;

  o->worker_waits = false;
  do {
    Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
    Omcc__V1__MoreFiles more = OMCC__V1__MORE_FILES__INIT;
    Omcc__V1__ExternalFile file[OC_MAX_FRAME_FDS], *list[OC_MAX_FRAME_FDS];
    int fds[OC_MAX_FRAME_FDS];

    more.files = list;
    more.n_files = work_external(o, &at, file, list, fds);
    more.last = at == o->n_external;
    m.body_case = OMCC__V1__TO_WORKER__BODY_MORE_FILES;
    m.more_files = &more;
    if (oc_pool_tell(o->srv->pool, o->job, &m, fds, more.n_files, NULL))
      return; /* its death follows */
  } while (at < o->n_external);
}
