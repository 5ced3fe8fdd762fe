/* Blocks of growing size in a list, handed out from the newest one. A request that does
 * not fit into a normal block gets a block of its own, put behind the newest one so that
 * the room left there stays usable. The cap counts bytes handed out, not bytes held. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT   ((size_t)16)
#define FIRST_BLOCK ((size_t)1024)
/* Larger blocks waste more at the end than they save in calls. */
#define LARGEST_BLOCK ((size_t)1 << 20)

struct oc_arena_block {
  struct oc_arena_block *next;
  size_t size; /* bytes behind the header */
  size_t used;
};

#define HEADER ((sizeof(struct oc_arena_block) + ALIGNMENT - 1) & ~(ALIGNMENT - 1))

void oc_arena_init(struct oc_arena *a, size_t cap)
{
  *a = (struct oc_arena){ .cap = cap };
}

void oc_arena_clear(struct oc_arena *a)
{
  struct oc_arena_block *b = a->head;

  while (b) {
    struct oc_arena_block *next = b->next;
    free(b);
    b = next;
  }
  oc_arena_init(a, a->cap);
}

static void *refuse(struct oc_arena *a, bool at_cap)
{
  a->failed = true;
  a->at_cap = at_cap;
  return NULL;
}

static struct oc_arena_block *new_block(size_t size)
{
  struct oc_arena_block *b = malloc(HEADER + size);

  if (b)
    *b = (struct oc_arena_block){ .size = size };
  return b;
}

static void *from_block(struct oc_arena *a, struct oc_arena_block *b, size_t size)
{
  void *p = (char *)b + HEADER + b->used;

  b->used += size;
  a->used += size;
  return p;
}

void *oc_arena_alloc(struct oc_arena *a, size_t size)
{
  if (size > SIZE_MAX - HEADER - ALIGNMENT)
    return refuse(a, true);
  size = size ? (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1) : ALIGNMENT;
  if (a->cap && (size > a->cap || a->used > a->cap - size))
    return refuse(a, true);
  if (a->head && a->head->size - a->head->used >= size)
    return from_block(a, a->head, size);

  size_t normal = a->head ? a->head->size * 2 : FIRST_BLOCK;
  if (normal > LARGEST_BLOCK)
    normal = LARGEST_BLOCK;
  bool own = size > normal / 2 && a->head;
  struct oc_arena_block *b = new_block(own || size > normal ? size : normal);
  if (!b)
    return refuse(a, false);
  if (own) {
    b->next = a->head->next;
    a->head->next = b;
  } else {
    b->next = a->head;
    a->head = b;
  }
  return from_block(a, b, size);
}

void *oc_arena_calloc(struct oc_arena *a, size_t n, size_t size)
{
  size_t bytes = 0;

  if (__builtin_mul_overflow(n, size, &bytes))
    return refuse(a, true);
  void *p = oc_arena_alloc(a, bytes);
  if (p)
    memset(p, 0, bytes);
  return p;
}

void *oc_arena_grow(struct oc_arena *a, const void *old, size_t old_n, size_t new_n,
                    size_t size)
{
  size_t bytes = 0;

  if (new_n < old_n || __builtin_mul_overflow(new_n, size, &bytes))
    return refuse(a, true);
  void *p = oc_arena_alloc(a, bytes);
  if (p && old_n)
    memcpy(p, old, old_n * size);
  return p;
}

void *oc_arena_memdup(struct oc_arena *a, const void *src, size_t len)
{
  void *p = oc_arena_alloc(a, len);

  if (p && len)
    memcpy(p, src, len);
  return p;
}

char *oc_arena_strndup(struct oc_arena *a, const char *s, size_t len)
{
  if (len == SIZE_MAX)
    return refuse(a, true);
  char *p = oc_arena_alloc(a, len + 1);
  if (!p)
    return NULL;
  if (len)
    memcpy(p, s, len);
  p[len] = '\0';
  return p;
}

char *oc_arena_strdup(struct oc_arena *a, const char *s)
{
  return oc_arena_strndup(a, s, strlen(s));
}

char *oc_arena_printf(struct oc_arena *a, const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  int len = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (len < 0)
    return refuse(a, true);
  char *p = oc_arena_alloc(a, (size_t)len + 1);
  if (!p)
    return NULL;
  va_start(ap, fmt);
  vsnprintf(p, (size_t)len + 1, fmt, ap);
  va_end(ap);
  return p;
}

void *oc_arena_pb_alloc(void *arena, size_t size)
{
  return oc_arena_alloc(arena, size);
}

void oc_arena_pb_free(void *arena, void *p)
{
  (void)arena;
  (void)p;
}
