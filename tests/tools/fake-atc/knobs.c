/* Knobs from the environment, then from a file beside the tool. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KNOBS 64

static struct {
  char name[64];
  char value[1024];
} from_file[MAX_KNOBS];
static size_t n_from_file;

void knobs_load(const char *conf)
{
  char line[1200];
  FILE *f = fopen(conf, "re");

  while (f && n_from_file < MAX_KNOBS && fgets(line, sizeof(line), f))
    if (sscanf(line, "%63[A-Z_]=%1023[^\n]", from_file[n_from_file].name,
               from_file[n_from_file].value) == 2)
      n_from_file++;
  if (f)
    fclose(f);
}

const char *knob(const char *name)
{
  const char *value = getenv(name);

  if (value)
    return *value ? value : NULL;
  for (size_t i = 0; i < n_from_file; i++)
    if (strcmp(from_file[i].name, name) == 0)
      return from_file[i].value;
  return NULL;
}

long knob_number(const char *name, long other)
{
  const char *value = knob(name);

  return value ? strtol(value, NULL, 10) : other;
}
