/* The toolkit is looked at anew for every request that it may compile: a custom operator
 * that was installed a second ago is another compiler. And once more when its output is
 * there: a result of a toolkit that changed meanwhile is delivered, but not stored.
 *
 * Looking lists a few directories, on a digest thread beside the digests of the inputs.
 */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct look {
  struct task task;
  struct oc_toolkit found;
};

static int identity_digest(const struct oc_toolkit *t, uint8_t ret[OC_SHA256_LEN])
{
  struct oc_sha256 s;

  if (oc_sha256_init(&s) < 0) {
    oc_sha256_clear(&s);
    return OC_E_NOMEM;
  }
  for (size_t i = 0; i < t->n_identity; i++) {
    oc_sha256_field(&s, t->identity[i].name, strlen(t->identity[i].name));
    oc_sha256_field(&s, t->identity[i].value, strlen(t->identity[i].value));
  }
  return oc_sha256_final(&s, ret);
}

static int find(const struct oc_server *s, struct oc_toolkit *ret, struct oc_error *err)
{
  struct oc_toolkit_options o = { .dir = s->o.toolkit, .environ_ = environ };

  return oc_toolkit_find(&o, ret, err);
}

static void run_look(struct task *t)
{
  struct look *l = (struct look *)t;

  t->code = find(t->order->srv, &l->found, &t->err);
}

/* The daemon goes on with what is installed now. */
static void take_over(struct oc_server *s, struct oc_toolkit *found)
{
  struct backends *b = &s->backends;
  uint8_t before[OC_SHA256_LEN], now[OC_SHA256_LEN];

  if (identity_digest(&b->toolkit, before) < 0 || identity_digest(found, now) < 0 ||
      memcmp(before, now, sizeof(now)) == 0)
    return;
  oc_log_event(s->log, OC_LOG_INFO, "toolkit_changed", 0, found->version);
  oc_toolkit_clear(&b->toolkit);
  b->toolkit = *found;
  memset(found, 0, sizeof(*found));
}

static void look_done(struct task *t)
{
  struct look *l = (struct look *)t;
  struct order *o = t->order;
  struct oc_server *s = o->srv;

  if (t->code == 1)
    take_over(s, &l->found);
  oc_toolkit_clear(&l->found);
  free(l);
  o->tool_looking = false;
  if (o->forgotten)
    return;
  if (identity_digest(&s->backends.toolkit, o->tool_sha256) < 0)
    memset(o->tool_sha256, 0, sizeof(o->tool_sha256));
  reading_step(o);
}

int tool_look_start(struct order *o)
{
  struct look *l = calloc(1, sizeof(*l));

  if (!l)
    return OC_E_NOMEM;
  l->task = (struct task){ .uid = o->uid, .run = run_look, .done = look_done };
  l->task.order = o;
  o->tool_looking = true;
  digester_add(o->srv, &l->task);
  return 0;
}

bool tool_look_again(const struct order *o)
{
  struct oc_toolkit now = { 0 };
  uint8_t digest[OC_SHA256_LEN];
  bool same = find(o->srv, &now, NULL) == 1 && identity_digest(&now, digest) == 0 &&
              memcmp(digest, o->tool_sha256, sizeof(digest)) == 0;

  oc_toolkit_clear(&now);
  return same;
}
