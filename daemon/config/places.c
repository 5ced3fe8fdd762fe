/* Where socket and cache are when nobody says: the same places in the daemon and in the
 * client that starts one.
 *
 * OMCC_SOCKET and OMCC_CACHE_DIR are settings like others, with their names as origin;
 * the XDG directories and /tmp are only the last resort. Relative paths in the
 * environment are ignored, as the XDG rules ask. */
#include "config/config.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/str.h"

static const char *absolute(char *(*get)(const char *), const char *name)
{
  const char *value = get(name);

  return value && value[0] == '/' ? value : NULL;
}

static int socket_place(struct oc_config *c, char *(*get)(const char *), uint32_t uid,
                        struct oc_error *err)
{
  const char *runtime = absolute(get, "XDG_RUNTIME_DIR");
  char path[4096];

  if (runtime)
    snprintf(path, sizeof(path), "%s/omcc/omccd.sock", runtime);
  else
    snprintf(path, sizeof(path), "/tmp/omcc-%u/omccd.sock", uid);
  return oc_config_set(c, "socket", path, runtime ? "XDG_RUNTIME_DIR" : "default", err);
}

static int cache_place(struct oc_config *c, char *(*get)(const char *),
                       struct oc_error *err)
{
  const char *xdg = absolute(get, "XDG_CACHE_HOME");
  const char *home = absolute(get, "HOME");
  char path[4096];

  if (!xdg && !home)
    return oc_error_set(err, OC_E_ARG,
                        "no place for the cache: set OMCC_CACHE_DIR or HOME");
  if (xdg)
    snprintf(path, sizeof(path), "%s/omcc", xdg);
  else
    snprintf(path, sizeof(path), "%s/.cache/omcc", home);
  return oc_config_set(c, "cache_dir", path, xdg ? "XDG_CACHE_HOME" : "HOME", err);
}

int oc_config_places(struct oc_config *c, char *(*get)(const char *name), uint32_t uid,
                     struct oc_error *err)
{
  size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
  int r = 0;

  if (!*c->v.socket)
    r = socket_place(c, get, uid, err);
  if (!r && !*c->v.cache_dir)
    r = cache_place(c, get, err);
  if (!r && strlen(c->v.socket) >= room)
    return oc_error_set(err, OC_E_ARG, "socket path '%s' is longer than %zu bytes",
                        c->v.socket, room - 1);
  return r;
}
