/* A growing byte buffer with a stated cap.
 *
 * On failure the buffer is freed and `failed` stays set: later appends do nothing and
 * fail too, so a writer may check once at its end. Ownership: the caller's;
 * oc_buf_clear() frees, oc_buf_take() moves the bytes out. */
#ifndef OC_BASE_BUF_H
#define OC_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oc_buf {
  uint8_t *data; /* always followed by one NUL once anything was appended */
  size_t len;
  size_t room; /* allocated bytes */
  size_t cap;  /* most bytes this buffer may hold; must be named */
  bool failed;
};

void oc_buf_init(struct oc_buf *b, size_t cap);
void oc_buf_clear(struct oc_buf *b);
/* Forgets the content, keeps the memory. */
void oc_buf_reset(struct oc_buf *b);

/* Return 0, or OC_E_NOMEM. */
int oc_buf_append(struct oc_buf *b, const void *p, size_t len);
int oc_buf_fill(struct oc_buf *b, uint8_t byte, size_t n);
int oc_buf_puts(struct oc_buf *b, const char *s);
int oc_buf_putc(struct oc_buf *b, char c);
int oc_buf_printf(struct oc_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int oc_buf_vprintf(struct oc_buf *b, const char *fmt, va_list ap);
/* Room for `len` more bytes; the pointer is valid until the next call. NULL on failure.
 */
uint8_t *oc_buf_reserve(struct oc_buf *b, size_t len);
/* Says that `len` bytes of the last reservation were written. */
void oc_buf_commit(struct oc_buf *b, size_t len);
/* Drops the first `n` bytes. */
void oc_buf_consume(struct oc_buf *b, size_t n);
/* The content as a NUL-terminated string; "" when empty or failed. Lives until the next
 * append. */
const char *oc_buf_str(const struct oc_buf *b);
/* Moves the bytes out (free() them) and leaves an empty buffer. NULL when failed. */
uint8_t *oc_buf_take(struct oc_buf *b, size_t *ret_len);

#endif
