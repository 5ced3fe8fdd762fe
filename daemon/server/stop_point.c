/* Named stop points: the process stops itself at a place, so that a test can kill it
 * there. Builds without OMCC_STOP_POINTS have none. */
#include "server/server_internal.h"

#include <signal.h>

#include "base/str.h"

void server_stop_point(const struct oc_server *s, struct order *o, const char *here)
{
#ifdef OMCC_STOP_POINTS
  bool asked = o && !o->stopped_once && oc_streq(o->stop_at, here);

  if (!asked && !oc_streq(s->o.stop_at, here))
    return;
  if (asked)
    o->stopped_once = true;
  oc_log_event(s->log, OC_LOG_INFO, "stop_point", o ? o->job : 0, here);
  raise(SIGSTOP);
#else
  (void)s;
  (void)o;
  (void)here;
#endif
}
