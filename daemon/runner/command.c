/* The command line and environment of the compiler.
 *
 * Flags are passed as given, except that files are those of the job directory, and
 * whatever names an output goes there too: no path and no name of a user gets into the
 * file, so that any identical request can be served with it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runner/runner_internal.h"

/* Neutral names; the folder keeps them apart from external data of the same name. */
static const struct {
  const char *flag, *name;
} file_names[] = {
  { "weight", "cfg/weight.caffemodel" },
  { "om", "cfg/input.om" },
  { "singleop", "cfg/singleop.json" },
  { "modify_mixlist", "cfg/modify_mixlist.json" },
  { "op_precision_mode", "cfg/op_precision_mode.ini" },
  { "raw_ge_options", "cfg/raw_ge_options.json" },
  { "cluster_config", "cfg/cluster_config.json" },
  { "hccl_sub_comm_config", "cfg/hccl_sub_comm_config.json" },
};

static const char *const model_ends[] = { ".onnx", ".pb", ".prototxt", ".air", ".pbtxt" };

/* Flags that name outputs or places of the requester's; the job has its own. */
static const char *const own_places[] = { "output", "debug_dir", "op_compiler_cache_dir",
                                          "check_report", "json" };

static const char *flag_value(const struct job *j, const char *name)
{
  for (size_t i = 0; i < j->run->n_flags; i++)
    if (oc_streq(j->run->flags[i]->name, name))
      return j->run->flags[i]->value;
  return NULL;
}

static const char *model_file_name(struct job *j, const char *users_name)
{
  const char *framework = flag_value(j, "framework");

  for (size_t i = 0; i < OC_COUNT(model_ends); i++)
    if (oc_ends_with(users_name, model_ends[i]))
      return oc_arena_printf(&j->arena, "model%s", model_ends[i]);
  if (oc_streq(framework, "0"))
    return "model.prototxt";
  if (oc_streq(framework, "1"))
    return "model.air";
  if (oc_streq(framework, "3"))
    return "model.pb";
  return "model.onnx";
}

const char *command_file_name(struct job *j, const char *flag, const char *users_name)
{
  if (oc_streq(flag, "model"))
    return model_file_name(j, users_name);
  for (size_t i = 0; i < OC_COUNT(file_names); i++)
    if (oc_streq(file_names[i].flag, flag))
      return file_names[i].name;
  return path_is_inside(flag) ? oc_arena_printf(&j->arena, "cfg/%s.cfg", flag)
                              : "cfg/unnamed.cfg";
}

static const Omcc__V1__File *file_of(const struct job *j, const char *flag)
{
  for (size_t i = 0; i < j->run->n_files; i++)
    if (oc_streq(j->run->files[i]->flag, flag))
      return j->run->files[i];
  return NULL;
}

static bool is_own_place(const char *name)
{
  for (size_t i = 0; i < OC_COUNT(own_places); i++)
    if (oc_streq(own_places[i], name))
      return true;
  return false;
}

static void add(struct job *j, size_t *n, const char *arg)
{
  j->argv[(*n)++] = arg; /* a NULL shows in arena.failed */
}

static void add_flag(struct job *j, size_t *n, const Omcc__V1__Flag *flag)
{
  const Omcc__V1__File *file = file_of(j, flag->name);

  if (is_own_place(flag->name))
    return;
  if (file)
    add(j, n,
        oc_arena_printf(&j->arena, "--%s=%s/in/%s", flag->name, j->dir,
                        command_file_name(j, flag->name, file->name)));
  else
    add(j, n, oc_arena_printf(&j->arena, "--%s=%s", flag->name, flag->value));
}

/* The places of the job for what the flags ask for. */
static void add_places(struct job *j, size_t *n)
{
  const char *mode = flag_value(j, "mode");
  const char *cache = flag_value(j, "op_compiler_cache_mode");
  bool makes_file =
      !mode || oc_streq(mode, "0") || oc_streq(mode, "7") || oc_streq(mode, "30");

  if (makes_file)
    add(j, n,
        oc_arena_printf(&j->arena,
                        flag_value(j, "singleop") ? "--output=%s/out"
                                                  : "--output=%s/out/model",
                        j->dir));
  if (oc_streq(mode, "3") || flag_value(j, "check_report"))
    add(j, n,
        oc_arena_printf(&j->arena, "--check_report=%s/out/check_result.json", j->dir));
  if (flag_value(j, "json"))
    add(j, n, oc_arena_printf(&j->arena, "--json=%s/out/model.json", j->dir));
  if (cache && !oc_streq(cache, "disable"))
    add(j, n, oc_arena_printf(&j->arena, "--op_compiler_cache_dir=%s/cache", j->dir));
}

static int build_env(struct job *j)
{
  size_t n = 0;

  j->env = OC_NEW_N(&j->arena, const char *, j->run->n_env + 4);
  if (!j->env)
    return OC_E_NOMEM;
  for (size_t i = 0; i < j->run->n_env; i++) {
    const Omcc__V1__Argument *e = j->run->env[i];
    if (oc_streq(e->name, "HOME") || oc_streq(e->name, "TMPDIR") ||
        oc_streq(e->name, "PWD"))
      continue;
    j->env[n++] = oc_arena_printf(&j->arena, "%s=%s", e->name, e->value);
  }
  j->env[n++] = oc_arena_printf(&j->arena, "HOME=%s/home", j->dir);
  j->env[n++] = oc_arena_printf(&j->arena, "TMPDIR=%s/tmp", j->dir);
  j->env[n++] = oc_arena_printf(&j->arena, "PWD=%s/work", j->dir);
  return 0;
}

int command_build(struct job *j, struct oc_error *err)
{
  size_t n = 0;

  j->argv = OC_NEW_N(&j->arena, const char *, j->run->n_flags + 6);
  if (!j->argv || build_env(j) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a command line");
  add(j, &n, j->atc);
  for (size_t i = 0; i < j->run->n_flags; i++)
    add_flag(j, &n, j->run->flags[i]);
  add_places(j, &n);
  return j->arena.failed ? oc_error_set(err, OC_E_NOMEM, "no memory for a command line")
                         : 0;
}
