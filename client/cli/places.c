/* Findings name entries of a list; this user's own file has lines. The bytes that were
 * submitted are parsed again, by the same parser, so entries and lines agree even when
 * the file was changed since, or was a pipe. A list that does not parse has no entries;
 * what is wrong in it was found with its line, and only the file's name is missing. */
#include <string.h>

#include "cli/cli.h"
#include "lists/lists.h"

#define MAX_LISTS 5

struct found {
  uint32_t *lines;
  size_t n;
};

#define COLLECT(list)                                                                    \
  do {                                                                                   \
    ret->lines = OC_NEW_N(&cli->arena, uint32_t, (list)->n + 1);                         \
    for (size_t i = 0; ret->lines && i < (list)->n; i++)                                 \
      ret->lines[ret->n++] = (list)->entries[i].line;                                    \
  } while (0)

/* Findings of this second parse are the worker's too, so they are thrown away. */
static void parse(struct cli *cli, const char *flag, const char *text, size_t len,
                  struct found *ret)
{
  struct oc_findings again;
  struct oc_keep_list *keep;
  struct oc_custom_list *custom;
  struct oc_mix_list *mix;
  struct oc_impl_list *impl;

  oc_findings_init(&again, &cli->arena);
  if (!strcmp(flag, "keep_dtype") &&
      !oc_keep_parse(&cli->arena, text, len, 0, &again, &keep))
    COLLECT(keep);
  if (!strcmp(flag, "customize_dtypes") &&
      !oc_custom_parse(&cli->arena, text, len, 0, &again, &custom)) {
    COLLECT(custom);
    oc_custom_clear(custom);
  }
  if (!strcmp(flag, "modify_mixlist") &&
      !oc_mix_parse(&cli->arena, text, len, 0, &again, &mix)) {
    COLLECT(mix);
    oc_mix_clear(mix);
  }
  if (!strcmp(flag, "op_precision_mode") &&
      !oc_impl_parse(&cli->arena, text, len, 0, &again, &impl))
    COLLECT(impl);
}

void cli_find_places(struct cli *cli, const struct omcc_job *job)
{
  static const char *const flags[MAX_LISTS] = { "keep_dtype", "customize_dtypes",
                                                "modify_mixlist", "op_precision_mode",
                                                "insert_op_conf" };
  struct oc_place_list *lists = OC_NEW_N(&cli->arena, struct oc_place_list, MAX_LISTS);
  size_t n = 0;

  for (size_t i = 0; lists && i < MAX_LISTS; i++) {
    struct found found = { 0 };
    size_t len = 0;
    const char *text = omcc_job_list(job, flags[i], &len);

    if (!oc_flags_get(&cli->flags, flags[i]))
      continue;
    if (text)
      parse(cli, flags[i], text, len, &found);
    lists[n++] = (struct oc_place_list){ .flag = flags[i],
                                         .file = oc_flags_get(&cli->flags, flags[i]),
                                         .lines = found.lines,
                                         .n = found.n };
  }
  cli->places = (struct oc_places){ .lists = lists, .n = n };
}
