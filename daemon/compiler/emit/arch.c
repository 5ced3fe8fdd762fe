/* The number by which a loader knows a chip's architecture, from the vendor's public
 * platform files (CANN 8.1). Newer chips have none there; none is written then. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "emit_internal.h"

static const struct {
  const char *prefix; /* the first that fits decides */
  const char *number;
} archs[] = {
  { "Ascend310B", "2" },    { "Ascend310P", "1" },     { "Ascend310", "5" },
  { "Ascend910B1", "4" },   { "Ascend910B2", "4" },    { "Ascend910B3", "4" },
  { "Ascend910B4", "4" },   { "Ascend910_93", "4" },   { "Ascend910_95", NULL },
  { "Ascend910_55", NULL }, { "Ascend910", "3" },      { "Ascend610Lite", "11" },
  { "Ascend610", "6" },     { "Ascend031", "8" },      { "Ascend035", "9" },
  { "AS31XM1X", "10" },     { "Hi3796CV300ES", "12" }, { "Hi3796CV300CS", "13" },
  { "SD3403", "13" },       { "BS9SX1A", "7" },        { "BS9SX2A", "11" },
  { "MC61AM21A", "11" },
};

const char *emit_arch_type(const char *soc)
{
  for (size_t i = 0; i < OC_COUNT(archs); i++)
    if (oc_starts_with(soc, archs[i].prefix))
      return archs[i].number;
  return NULL;
}
