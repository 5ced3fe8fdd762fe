/* Reading the script and obeying its places. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_worker.h"

void script_read(struct script *s, int fd)
{
  ssize_t n = pread(fd, s->text, sizeof(s->text) - 1, 0);

  s->text[n > 0 ? n : 0] = '\0';
}

const char *script_value(const struct script *s, const char *word, int nth)
{
  static char value[1024];
  size_t len = strlen(word);

  for (const char *line = s->text; *line;
       line += strcspn(line, "\n"), line += *line == '\n') {
    size_t all = strcspn(line, "\n");

    if (strncmp(line, word, len) || (line[len] != ' ' && line[len] != '\n' && line[len]))
      continue;
    if (nth--)
      continue;
    line += len + (line[len] == ' ');
    all = strcspn(line, "\n");
    snprintf(value, sizeof(value), "%.*s", (int)all, line);
    return value;
  }
  return NULL;
}

bool script_has(const struct script *s, const char *word)
{
  return script_value(s, word, 0) != NULL;
}

/* The rest of "word PLACE rest", NULL when the script has no such line for this place. */
static const char *at(const struct script *s, const char *word, const char *place)
{
  const char *v;

  for (int i = 0; (v = script_value(s, word, i)); i++) {
    size_t len = strlen(place);

    if (!strncmp(v, place, len) && (v[len] == ' ' || !v[len]))
      return v[len] ? v + len + 1 : v + len;
  }
  return NULL;
}

void script_place(const struct script *s, const char *place)
{
  const char *v = at(s, "sleep", place);

  if (v) {
    long ms = strtol(v, NULL, 10);
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
  }
  v = at(s, "gate", place);
  while (v && access(v, F_OK)) {
    struct timespec t = { 0, 5000000 };

    nanosleep(&t, NULL);
  }
  v = at(s, "dieonce", place);
  if (v && access(v, F_OK)) {
    close(open(v, O_CREAT | O_WRONLY, 0600));
    abort();
  }
  if (at(s, "die", place))
    abort();
  v = at(s, "exit", place);
  if (v)
    _exit((int)strtol(v, NULL, 10));
}
