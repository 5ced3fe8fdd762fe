/* Arena: memory that is given back all at once, with a cap.
 *
 * Ownership: the struct belongs to the caller; oc_arena_clear() frees every block.
 * All pointers handed out die with it. Alignment is 16 bytes. Not thread safe. */
#ifndef OC_BASE_ARENA_H
#define OC_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct oc_arena_block;

struct oc_arena {
  struct oc_arena_block *head; /* newest block */
  size_t used;                 /* bytes handed out */
  size_t cap;                  /* most bytes that may be handed out, 0 = no cap */
  bool failed;                 /* an allocation was refused since init */
  bool at_cap;                 /* the last refusal was the cap's, not the system's */
};

/* `cap` names the most bytes this arena may hand out (0: no cap). Cannot fail. */
void oc_arena_init(struct oc_arena *a, size_t cap);
/* Frees everything. Safe to call twice, or on an all-zero struct. */
void oc_arena_clear(struct oc_arena *a);

/* NULL when the cap is reached or memory is short; `failed` is then set and stays set,
 * so a long builder may check once at its end. A size of 0 gives a valid pointer. */
void *oc_arena_alloc(struct oc_arena *a, size_t size) __attribute__((malloc));
/* Zeroed `n * size` bytes; NULL also when the product overflows. */
void *oc_arena_calloc(struct oc_arena *a, size_t n, size_t size) __attribute__((malloc));
/* Grows an array that lives in this arena: copies `old_n * size` bytes into room for
 * `new_n`. The old array stays valid but unused. */
void *oc_arena_grow(struct oc_arena *a, const void *old, size_t old_n, size_t new_n,
                    size_t size);
void *oc_arena_memdup(struct oc_arena *a, const void *p, size_t len);
/* Copy of `len` bytes with a NUL behind them. */
char *oc_arena_strndup(struct oc_arena *a, const char *s, size_t len);
char *oc_arena_strdup(struct oc_arena *a, const char *s);
char *oc_arena_printf(struct oc_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Typed shorthand: OC_NEW(arena, struct oc_op) is one zeroed object. */
#define OC_NEW(arena, type)      ((type *)oc_arena_calloc((arena), 1, sizeof(type)))
#define OC_NEW_N(arena, type, n) ((type *)oc_arena_calloc((arena), (n), sizeof(type)))

/* Allocator functions with protobuf-c's signature: unpack into an arena, free is empty.
 */
void *oc_arena_pb_alloc(void *arena, size_t size);
void oc_arena_pb_free(void *arena, void *p);

#endif
