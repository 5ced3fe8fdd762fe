/* What a lowering would do to an array, without doing it: a plan can report lost values
 * before a byte is written. Nearly every block of real weights has nothing to count,
 * which its smallest and largest magnitude show; only the others are looked at one by
 * one. */
#include <endian.h>
#include <string.h>

#include "base/half.h"

#define MAG32 0x7fffffffu
#define INF32 0x7f800000u
/* The smallest magnitude that rounds to infinity, and the largest that rounds to zero. */
#define OVER_F16   0x477ff000u
#define UNDER_F16  0x33000000u
#define OVER_BF16  0x7f7f8000u
#define UNDER_BF16 0x00008000u
#define BLOCK      256

/* Magnitudes of one block; the smallest and largest say whether there is anything to
 * count. */
static void extremes(const uint32_t *restrict mag, int32_t *ret_min, int32_t *ret_max)
{
  int32_t min = INT32_MAX, max = 0;

  for (size_t i = 0; i < BLOCK; i++) {
    int32_t m = (int32_t)mag[i];
    max = m > max ? m : max;
    min = m < min ? m : min;
  }
  *ret_min = min;
  *ret_max = max;
}

static void count_block(const uint32_t *mag, size_t n, uint32_t over, uint32_t under,
                        struct oc_lowering *stat, uint32_t *max)
{
  for (size_t i = 0; i < n; i++) {
    if (mag[i] >= INF32)
      continue;
    stat->overflow += mag[i] >= over;
    stat->underflow += mag[i] != 0 && mag[i] <= under;
    *max = mag[i] > *max ? mag[i] : *max;
  }
}

static void count(const uint8_t *src, size_t n, uint32_t over, uint32_t under,
                  struct oc_lowering *stat)
{
  uint32_t max = 0, mag[BLOCK] = { 0 };

  for (size_t done = 0; done < n;) {
    int32_t low = 0, high = 0;
    size_t now = n - done < BLOCK ? n - done : BLOCK;
    memcpy(mag, src + 4 * done, 4 * now);
    for (size_t i = 0; i < BLOCK; i++)
      mag[i] = le32toh(mag[i]) & MAG32;
    if (now == BLOCK)
      extremes(mag, &low, &high);
    if (now < BLOCK || low <= (int32_t)under || high >= (int32_t)over)
      count_block(mag, now, over, under, stat, &max);
    else
      max = (uint32_t)high > max ? (uint32_t)high : max;
    done += now;
  }
  float f;
  memcpy(&f, &max, sizeof f);
  if ((double)f > stat->max_abs)
    stat->max_abs = (double)f;
}

void oc_count_f32_to_f16(const void *src, size_t n, struct oc_lowering *stat)
{
  count(src, n, OVER_F16, UNDER_F16, stat);
}

void oc_count_f32_to_bf16(const void *src, size_t n, struct oc_lowering *stat)
{
  count(src, n, OVER_BF16, UNDER_BF16, stat);
}
