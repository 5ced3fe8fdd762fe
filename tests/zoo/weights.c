/* The rule of the weights, element by element, so that any part can be made at any time.
 */
#include <string.h>

#include "base/half.h"
#include "base/map.h"
#include "zoo.h"

#define GOLD 0x9E3779B97F4A7C15u

static uint64_t splitmix(uint64_t z)
{
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

size_t zoo_type_size(enum zoo_type t)
{
  switch (t) {
  case ZOO_F64:
  case ZOO_I64: return 8;
  case ZOO_F32:
  case ZOO_I32: return 4;
  case ZOO_F16:
  case ZOO_BF16: return 2;
  case ZOO_U8:
  case ZOO_I8:
  case ZOO_BOOL: return 1;
  }
  return 0;
}

static void put_le(uint8_t *to, uint64_t v, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = (uint8_t)(v >> 8 * i);
}

static void put_value(enum zoo_type type, float v, uint8_t *to)
{
  uint32_t bits = 0;

  memcpy(&bits, &v, sizeof(bits));
  if (type == ZOO_F16)
    put_le(to, oc_f32_to_f16(bits), 2);
  else if (type == ZOO_BF16)
    put_le(to, oc_f32_to_bf16(bits), 2);
  else
    put_le(to, bits, 4);
}

void zoo_make(const struct zoo_weight *w, uint64_t seed, uint64_t first, size_t n,
              uint8_t *to)
{
  size_t size = zoo_type_size(w->type);

  if (w->bytes) {
    memcpy(to, w->bytes + first * size, n * size);
    return;
  }
  uint64_t base = oc_hash_bytes(w->name, strlen(w->name)) + seed * GOLD;
  for (size_t i = 0; i < n; i++) {
    uint64_t u = splitmix(base + (first + i + 1) * GOLD) >> 40;
    float v = (float)(((double)u + 0.5) * 0x1p-23 - 1) * w->scale;
    if (w->offset != 0)
      v += w->offset;
    if (w->outlier != 0 && first + i == 0)
      v = w->outlier;
    put_value(w->type, v, to + i * size);
  }
}
