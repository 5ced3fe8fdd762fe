/* Requests that may start nothing ask the remote tier as well: "cache has" whether the
 * entry is there, bytes and all, "--cached-only" for the entry itself.
 *
 * Such an order stays where it is, in reading, and belongs to nobody's key: identical
 * ones are not joined, since a compile may become of those. Only when the bytes are here
 * does it go the way of every remote result. Nobody's compile waits for it, so a slow
 * line is no reason to give up. */
#include "server/server_internal.h"

#include <string.h>

bool order_only_asks(const struct order *o)
{
  return o->want == WANT_LOOKUP || o->cached_only;
}

void lookup_end(struct order *o, bool cached, const char *where)
{
  struct request *r = server_request(o->srv, &o->asker);

  o->keyed = true;
  if (r)
    answer_lookup(o, r, cached, where);
  oc_flow_hit(o->srv->flow, server_now_ns(), o->job);
}

bool remote_ask(struct order *o)
{
  return o->srv->remote && remote_look(o, o->key, o->want == WANT_LOOKUP) == 1;
}

bool remote_may_look(const struct order *o)
{
  const struct oc_server *s = o->srv;

  return s->remote && oc_flow_n_busy(s->flow) < s->o.workers;
}

/* Into the table of keys, where it is fetched at once: what it needs is here. */
static void deliver(struct order *o, struct oc_remote_outcome *e)
{
  order_hold(o);
  o->fetched = e;
  oc_flow_keyed(o->srv->flow, server_now_ns(), o->job, o->key);
  if (!o->forgotten)
    remote_found(o, e);
  order_drop(o);
}

void remote_take_asked(struct order *o, struct oc_remote_outcome *e)
{
  if (e->what == OC_REMOTE_SLOW) {
    oc_remote_outcome_free(e);
    return;
  }
  o->looking = false;
  if (e->what == OC_REMOTE_FAILED)
    remote_tell_trouble(o, e->trouble, e->why);
  if (e->what == OC_REMOTE_FOUND && o->want == WANT_LOOKUP) {
    why_remember(o, server_request(o->srv, &o->asker), "cached remotely");
    oc_remote_outcome_free(e);
    lookup_end(o, true, "remote");
    return;
  }
  if (e->what == OC_REMOTE_FOUND && !remote_adopt(o, &e->entry)) {
    deliver(o, e);
    return;
  }
  oc_remote_outcome_free(e);
  lookup_end(o, false, "");
}
