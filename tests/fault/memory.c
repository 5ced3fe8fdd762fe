/* Memory that runs out at the Nth call. glibc keeps its own names for what stands behind.
 */
#include <errno.h>
#include <stdlib.h>

#include "order.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

#define SHOWN __attribute__((visibility("default")))

static bool fails(const char *call)
{
  return order_waits(FAULT_MEMORY) && order_ask(call) == FAIL;
}

SHOWN void *malloc(size_t size)
{
  return fails("malloc") ? NULL : __libc_malloc(size);
}

SHOWN void *calloc(size_t n, size_t size)
{
  return fails("calloc") ? NULL : __libc_calloc(n, size);
}

SHOWN void *realloc(void *p, size_t size)
{
  return fails("realloc") ? NULL : __libc_realloc(p, size);
}
