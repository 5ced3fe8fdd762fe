/* Log lines.
 *
 * A line is put together on the stack and goes out with one write, so that lines of
 * several threads do not mix and no lock is needed. A value is only ever appended whole:
 * when it does not fit the line says `cut=1` and takes nothing more, since half a value
 * would be a lie. Room for that mark is kept free from the start. A full or closed
 * descriptor loses the line: logging never stops the daemon. */
#include "telemetry/telemetry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define CUT_MARK  " cut=1\n"
#define LINE_ROOM (OC_LOG_LINE - sizeof(CUT_MARK))

static const char *const level_names[] = {
  [OC_LOG_ERROR] = "error",
  [OC_LOG_WARNING] = "warning",
  [OC_LOG_INFO] = "info",
  [OC_LOG_DEBUG] = "debug",
};
/* syslog's numbers, which the journal reads as a prefix. */
static const char journal_priority[] = {
  [OC_LOG_ERROR] = '3', [OC_LOG_WARNING] = '4', [OC_LOG_INFO] = '6', [OC_LOG_DEBUG] = '7'
};

bool oc_log_level_parse(const char *word, enum oc_log_level *ret)
{
  for (size_t i = 0; i < OC_COUNT(level_names); i++) {
    if (!oc_streq(word, level_names[i]))
      continue;
    *ret = (enum oc_log_level)i;
    return true;
  }
  return false;
}

static void line_time(struct oc_log_line *l)
{
  struct timespec now;
  struct tm tm;

  clock_gettime(CLOCK_REALTIME, &now);
  if (!gmtime_r(&now.tv_sec, &tm)) /* a year that has no number */
    memset(&tm, 0, sizeof(tm));
  l->len = strftime(l->text, LINE_ROOM, "%Y-%m-%dT%H:%M:%S", &tm);
  l->len += (size_t)snprintf(l->text + l->len, LINE_ROOM - l->len, ".%03ldZ ",
                             now.tv_nsec / 1000000);
}

void oc_log_begin(struct oc_log_line *l, const struct oc_log *log,
                  enum oc_log_level level, const char *event)
{
  l->log = log && log->fd >= 0 && level <= log->level ? log : NULL;
  l->len = 0;
  l->cut = false;
  if (!l->log)
    return;
  if (log->journal)
    l->len = (size_t)snprintf(l->text, LINE_ROOM, "<%c>", journal_priority[level]);
  else
    line_time(l);
  l->len += (size_t)snprintf(l->text + l->len, LINE_ROOM - l->len, "%s %.100s",
                             level_names[level], event);
}

/* Appends all of it or nothing. */
static void line_put(struct oc_log_line *l, const char *key, const char *value,
                     size_t len)
{
  size_t key_len = strlen(key);

  if (!l->log || l->cut)
    return;
  if (l->len + key_len + len + 2 > LINE_ROOM) {
    l->cut = true;
    return;
  }
  l->text[l->len++] = ' ';
  memcpy(l->text + l->len, key, key_len);
  l->len += key_len;
  l->text[l->len++] = '=';
  memcpy(l->text + l->len, value, len);
  l->len += len;
}

static bool is_plain(const char *s)
{
  for (; *s; s++)
    if ((unsigned char)*s <= ' ' || *s == '"' || *s == '=' || *s == '\\' || *s == 0x7f)
      return false;
  return true;
}

/* Quotes into `out`; returns the length, or more than `room` when it does not fit. */
static size_t quote(const char *s, char *out, size_t room)
{
  size_t n = 0;

  for (out[n++] = '"'; *s; s++) {
    unsigned char c = (unsigned char)*s;

    if (n + 6 > room)
      return room + 1;
    if (c == '"' || c == '\\' || c == '\n' || c == '\t') {
      out[n++] = '\\';
      out[n++] = c == '\n' ? 'n' : c == '\t' ? 't' : (char)c;
    } else if (c < ' ' || c == 0x7f) {
      n += (size_t)snprintf(out + n, room - n, "\\x%02x", c);
    } else {
      out[n++] = (char)c;
    }
  }
  out[n++] = '"';
  return n;
}

void oc_log_str(struct oc_log_line *l, const char *key, const char *value)
{
  char quoted[LINE_ROOM];
  size_t len;

  if (!l->log || l->cut)
    return;
  if (!value)
    value = "";
  if (*value && is_plain(value)) {
    line_put(l, key, value, strlen(value));
    return;
  }
  len = quote(value, quoted, sizeof(quoted));
  if (len > sizeof(quoted))
    l->cut = true;
  else
    line_put(l, key, quoted, len);
}

void oc_log_u64(struct oc_log_line *l, const char *key, uint64_t value)
{
  char text[24];
  int n = snprintf(text, sizeof(text), "%" PRIu64, value);

  line_put(l, key, text, (size_t)n);
}

void oc_log_i64(struct oc_log_line *l, const char *key, int64_t value)
{
  char text[24];
  int n = snprintf(text, sizeof(text), "%" PRId64, value);

  line_put(l, key, text, (size_t)n);
}

void oc_log_hex(struct oc_log_line *l, const char *key, const uint8_t *bytes, size_t n)
{
  char text[65];

  if (n > 32)
    n = 32;
  oc_hex(bytes, n, text);
  line_put(l, key, text, 2 * n);
}

void oc_log_end(struct oc_log_line *l)
{
  if (!l->log)
    return;
  if (l->cut) {
    memcpy(l->text + l->len, CUT_MARK, sizeof(CUT_MARK) - 1);
    l->len += sizeof(CUT_MARK) - 1;
  } else {
    l->text[l->len++] = '\n';
  }
  if (write(l->log->fd, l->text, l->len) < 0)
    return; /* the line is lost, the daemon goes on */
}

void oc_log_event(const struct oc_log *log, enum oc_log_level level, const char *event,
                  uint64_t job, const char *text)
{
  struct oc_log_line l;

  oc_log_begin(&l, log, level, event);
  if (job)
    oc_log_u64(&l, "job", job);
  if (text)
    oc_log_str(&l, "text", text);
  oc_log_end(&l);
}
