/* The settings of the tier, looked at before anything is opened.
 *
 * Secrets are in files that only their owner may read, never in the URL: that one is
 * shown by status and written into the log. */
#include "remote/remote_internal.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"

#define MOST_HEADER_BYTES (64u << 10)

static int check_url(const char *url, struct oc_error *err)
{
  const char *rest = oc_starts_with(url, "https://")  ? url + 8
                     : oc_starts_with(url, "http://") ? url + 7
                                                      : NULL;

  if (!rest)
    return oc_error_set(err, OC_E_ARG,
                        "'remote_url' must begin with http:// or https://, not '%.120s'",
                        url);
  if (!*rest || *rest == '/' || *rest == ':')
    return oc_error_set(err, OC_E_ARG, "'remote_url' names no host");
  if (memchr(rest, '@', strcspn(rest, "/")))
    return oc_error_set(err, OC_E_ARG,
                        "'remote_url' must not hold a login, put it into a file and "
                        "name that with 'remote_netrc'");
  if (strpbrk(rest, "?# \t") || strlen(url) > REMOTE_URL_ROOM - 128)
    return oc_error_set(
        err, OC_E_ARG, "'remote_url' must be a plain place, without '?', '#' and blanks");
  return 0;
}

/* The file can be read, and where it holds a secret, by nobody else. */
static int check_file(const char *key, const char *path, bool secret,
                      struct oc_error *err)
{
  auto_close int fd = -1;
  struct stat st;

  if (!*path)
    return 0;
  fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return oc_error_errno(err, OC_E_ARG, "cannot open '%s' of the setting '%s'", path,
                          key);
  if (fstat(fd, &st) || !S_ISREG(st.st_mode))
    return oc_error_set(err, OC_E_ARG, "'%s' of the setting '%s' is no regular file",
                        path, key);
  if (secret && (st.st_mode & 077))
    return oc_error_set(err, OC_E_ARG,
                        "'%s' of the setting '%s' may be read by others, make it 0600",
                        path, key);
  return 0;
}

static bool is_header(const char *line)
{
  size_t name = strcspn(line, ":");

  if (!name || line[name] != ':')
    return false;
  for (size_t i = 0; i < name; i++)
    if (!isalnum((unsigned char)line[i]) && line[i] != '-' && line[i] != '_')
      return false;
  for (const char *p = line + name; *p; p++)
    if ((unsigned char)*p < ' ' && *p != '\t')
      return false;
  return true;
}

static int add_header(const char *path, char *line, struct curl_slist **list,
                      struct oc_error *err)
{
  size_t len = strlen(line);
  struct curl_slist *grown;

  while (len && (line[len - 1] == '\n' || line[len - 1] == '\r' || line[len - 1] == ' '))
    line[--len] = '\0';
  if (!len || *line == '#')
    return 0;
  if (!is_header(line)) /* the line is a secret: it is not shown */
    return oc_error_set(err, OC_E_ARG,
                        "'%s' of the setting 'remote_header_file' must hold lines like "
                        "'Authorization: Bearer ...'",
                        path);
  grown = curl_slist_append(*list, line);
  if (!grown)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the remote cache");
  *list = grown;
  return 0;
}

int remote_read_headers(const char *path, struct curl_slist **ret, struct oc_error *err)
{
  auto_fclose FILE *f = NULL;
  auto_free char *line = NULL;
  struct curl_slist *list = NULL;
  size_t room = 0, total = 0;
  int r = 0;

  if (!*path)
    return 0;
  f = fopen(path, "re");
  if (!f)
    return oc_error_errno(err, OC_E_ARG,
                          "cannot open '%s' of the setting 'remote_header_file'", path);
  for (ssize_t n; !r && (n = getline(&line, &room, f)) > 0;) {
    total += (size_t)n;
    if (total > MOST_HEADER_BYTES)
      r = oc_error_set(err, OC_E_ARG,
                       "'%s' of the setting 'remote_header_file' is too large", path);
    else
      r = add_header(path, line, &list, err);
  }
  if (r)
    curl_slist_free_all(list);
  else
    *ret = list;
  return r;
}

int oc_remote_check(const struct oc_remote_options *o, struct oc_error *err)
{
  int r = check_url(o->url, err);

  if (!r)
    r = check_file("remote_netrc", o->netrc, true, err);
  if (!r)
    r = check_file("remote_header_file", o->header_file, true, err);
  if (!r)
    r = check_file("remote_ca", o->ca, false, err);
  return r;
}
