/* The buffer doubles until its cap. One byte more than `len` is always allocated and
 * zero, so that text in a buffer is a string at any time. A failed buffer holds nothing:
 * half a message must never be sent by somebody who forgot to check. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define FIRST_ROOM ((size_t)64)

void oc_buf_init(struct oc_buf *b, size_t cap)
{
  assert(cap);
  *b = (struct oc_buf){ .cap = cap };
}

void oc_buf_clear(struct oc_buf *b)
{
  free(b->data);
  *b = (struct oc_buf){ .cap = b->cap };
}

void oc_buf_reset(struct oc_buf *b)
{
  b->len = 0;
  if (b->data)
    b->data[0] = 0;
}

static int fail(struct oc_buf *b)
{
  oc_buf_clear(b);
  b->failed = true;
  return OC_E_NOMEM;
}

/* Room for `len` more bytes and the NUL. */
static int grow(struct oc_buf *b, size_t len)
{
  if (b->failed)
    return OC_E_NOMEM;
  if (len > b->cap || b->len > b->cap - len || b->cap == SIZE_MAX)
    return fail(b);
  size_t need = b->len + len + 1;
  if (need <= b->room)
    return 0;
  size_t room = b->room ? b->room : FIRST_ROOM;
  while (room < need)
    room = room > b->cap / 2 ? b->cap + 1 : room * 2;
  uint8_t *data = realloc(b->data, room);
  if (!data)
    return fail(b);
  b->data = data;
  b->room = room;
  return 0;
}

int oc_buf_append(struct oc_buf *b, const void *p, size_t len)
{
  if (grow(b, len) < 0)
    return OC_E_NOMEM;
  if (len)
    memcpy(b->data + b->len, p, len);
  oc_buf_commit(b, len);
  return 0;
}

int oc_buf_fill(struct oc_buf *b, uint8_t byte, size_t n)
{
  if (grow(b, n) < 0)
    return OC_E_NOMEM;
  memset(b->data + b->len, byte, n);
  oc_buf_commit(b, n);
  return 0;
}

int oc_buf_puts(struct oc_buf *b, const char *s)
{
  return oc_buf_append(b, s, strlen(s));
}

int oc_buf_putc(struct oc_buf *b, char c)
{
  return oc_buf_append(b, &c, 1);
}

int oc_buf_printf(struct oc_buf *b, const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  int r = oc_buf_vprintf(b, fmt, ap);
  va_end(ap);
  return r;
}

int oc_buf_vprintf(struct oc_buf *b, const char *fmt, va_list ap)
{
  va_list again;

  va_copy(again, ap);
  int len = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (len < 0)
    return fail(b);
  if (grow(b, (size_t)len) < 0)
    return OC_E_NOMEM;
  vsnprintf((char *)b->data + b->len, (size_t)len + 1, fmt, ap);
  oc_buf_commit(b, (size_t)len);
  return 0;
}

uint8_t *oc_buf_reserve(struct oc_buf *b, size_t len)
{
  return grow(b, len) < 0 ? NULL : b->data + b->len;
}

void oc_buf_commit(struct oc_buf *b, size_t len)
{
  assert(b->len + len < b->room);
  b->len += len;
  b->data[b->len] = 0;
}

void oc_buf_consume(struct oc_buf *b, size_t n)
{
  assert(n <= b->len);
  if (!n)
    return;
  b->len -= n;
  memmove(b->data, b->data + n, b->len);
  b->data[b->len] = 0;
}

const char *oc_buf_str(const struct oc_buf *b)
{
  return b->data ? (const char *)b->data : "";
}

uint8_t *oc_buf_take(struct oc_buf *b, size_t *ret_len)
{
  if (b->failed || (!b->data && grow(b, 0) < 0))
    return NULL;
  uint8_t *data = b->data;
  data[b->len] = 0;
  *ret_len = b->len;
  *b = (struct oc_buf){ .cap = b->cap };
  return data;
}
