/* The environment of a compiler run: listed variables of the daemon's, nothing of the
 * requester's. Which of them change results is the vendor's table of variables; those are
 * part of the toolkit's identity, the others only say where things are or how fast they
 * go. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "toolkit/toolkit_internal.h"

static const struct {
  const char *name;
  bool changes_results;
} listed[] = {
  /* Which programs and libraries run; the toolkit's own files are parts by themselves,
   * the order of these paths is not. */
  { "PATH", false },
  { "LD_LIBRARY_PATH", true },
  { "PYTHONPATH", true },
  { "LANG", false },
  { "LC_ALL", false },
  { "ASCEND_HOME_PATH", false }, /* the directory found is a part */
  { "ASCEND_TOOLKIT_HOME", false },
  { "ASCEND_OPP_PATH", true },
  { "ASCEND_AICPU_PATH", true },
  { "ASCEND_ENGINE_PATH", true },
  { "ASCEND_CUSTOM_OPP_PATH", true },
  { "TOOLCHAIN_HOME", true },
  { "TUNE_BANK_PATH", true },
  { "OP_NO_REUSE_MEM", true },
  { "GE_USE_STATIC_MEMORY", true },
  { "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", true },
  { "IGNORE_INFER_ERROR", true },
  { "ENABLE_ACLNN", true },
  { "AUTOFUSE_FLAGS", true },
  { "OFF_CONV_CONCAT_SPLIT", true },
  { "MIN_COMPILE_RESOURCE_USAGE_CTRL", true },
  { "OP_DYNAMIC_COMPILE_STATIC", true },
  { "ASCEND_GE_PY_PASS_PATH", true },
  { "TE_PARALLEL_COMPILER", false },
  { "MAX_COMPILE_CORE_NUMBER", false },
  { "MULTI_THREAD_COMPILE", false },
  { "ASCEND_GLOBAL_LOG_LEVEL", false },
};

#ifdef OMCC_STOP_POINTS
/* Test builds: the knobs of the stand-in compiler. */
#define TEST_PREFIX "FAKE_"
#endif

const char *oc_toolkit_variable(char *const *environ_, const char *name)
{
  size_t len = strlen(name);

  for (size_t i = 0; environ_ && environ_[i]; i++)
    if (strncmp(environ_[i], name, len) == 0 && environ_[i][len] == '=')
      return environ_[i][len + 1] ? environ_[i] + len + 1 : NULL;
  return NULL;
}

static int add(struct oc_toolkit *t, const char *name, size_t name_len, const char *value)
{
  struct oc_toolkit_text *e = &t->env[t->n_env];

  e->name = oc_arena_strndup(&t->arena, name, name_len);
  e->value = oc_arena_strdup(&t->arena, value);
  if (!e->name || !e->value)
    return OC_E_NOMEM;
  t->n_env++;
  return 0;
}

static int add_test_knobs(struct oc_toolkit *t, char *const *environ_)
{
#ifdef TEST_PREFIX
  for (size_t i = 0; environ_ && environ_[i]; i++) {
    const char *equals = strchr(environ_[i], '=');
    if (!equals || !oc_starts_with(environ_[i], TEST_PREFIX))
      continue;
    if (add(t, environ_[i], (size_t)(equals - environ_[i]), equals + 1) < 0)
      return OC_E_NOMEM;
  }
#else
  (void)t;
  (void)environ_;
#endif
  return 0;
}

int oc_toolkit_environment(struct oc_toolkit *t, char *const *environ_,
                           const char **ret_changing)
{
  size_t n = OC_COUNT(listed);
  struct oc_buf lines;
  int rc = 0;

  for (size_t i = 0; environ_ && environ_[i]; i++)
    n++;
  t->env = OC_NEW_N(&t->arena, struct oc_toolkit_text, n);
  if (!t->env)
    return OC_E_NOMEM;
  oc_buf_init(&lines, 1 << 20);
  for (size_t i = 0; i < OC_COUNT(listed) && rc == 0; i++) {
    const char *value = oc_toolkit_variable(environ_, listed[i].name);
    if (!value)
      continue;
    rc = add(t, listed[i].name, strlen(listed[i].name), value);
    if (listed[i].changes_results)
      oc_buf_printf(&lines, "%s=%s\n", listed[i].name, value);
  }
  if (rc == 0)
    rc = add_test_knobs(t, environ_);
  *ret_changing = oc_arena_strdup(&t->arena, oc_buf_str(&lines));
  if (lines.failed || !*ret_changing)
    rc = OC_E_NOMEM;
  oc_buf_clear(&lines);
  return rc;
}
