/* Slices, numbers and hex digits. Everything here is byte-wise and without locale. */
#include "base/str.h"

#include <string.h>

struct oc_str oc_str_of(const char *s)
{
  return (struct oc_str){ s ? s : "", s ? strlen(s) : 0 };
}

bool oc_str_eq(struct oc_str a, struct oc_str b)
{
  return a.len == b.len && (!a.len || !memcmp(a.p, b.p, a.len));
}

bool oc_str_is(struct oc_str a, const char *b)
{
  return oc_str_eq(a, oc_str_of(b));
}

bool oc_str_starts(struct oc_str a, const char *prefix)
{
  size_t len = strlen(prefix);

  return a.len >= len && (!len || !memcmp(a.p, prefix, len));
}

static bool is_blank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

struct oc_str oc_str_trim(struct oc_str s)
{
  while (s.len && is_blank(s.p[0])) {
    s.p++;
    s.len--;
  }
  while (s.len && is_blank(s.p[s.len - 1]))
    s.len--;
  return s;
}

int oc_str_cmp(struct oc_str a, struct oc_str b)
{
  size_t len = a.len < b.len ? a.len : b.len;
  int r = len ? memcmp(a.p, b.p, len) : 0;

  return r ? r : (a.len > b.len) - (a.len < b.len);
}

bool oc_streq(const char *a, const char *b)
{
  return a && b ? a[0] == b[0] && !strcmp(a, b) : a == b;
}

bool oc_starts_with(const char *s, const char *prefix)
{
  return oc_str_starts(oc_str_of(s), prefix);
}

bool oc_ends_with(const char *s, const char *suffix)
{
  size_t len = strlen(s);
  size_t want = strlen(suffix);

  return len >= want && !memcmp(s + len - want, suffix, want);
}

bool oc_str_to_u64(struct oc_str s, uint64_t *ret)
{
  uint64_t v = 0;

  if (!s.len)
    return false;
  for (size_t i = 0; i < s.len; i++) {
    unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';
    if (digit > 9 || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
        __builtin_add_overflow(v, (uint64_t)digit, &v))
      return false;
  }
  *ret = v;
  return true;
}

bool oc_str_to_i64(struct oc_str s, int64_t *ret)
{
  bool minus = s.len && s.p[0] == '-';
  uint64_t v = 0;

  if (minus) {
    s.p++;
    s.len--;
  }
  if (!oc_str_to_u64(s, &v) || v > (uint64_t)INT64_MAX + minus)
    return false;
  *ret = minus ? (int64_t)(0 - v) : (int64_t)v;
  return true;
}

void oc_hex(const uint8_t *bytes, size_t len, char *ret)
{
  static const char digits[] = "0123456789abcdef";

  for (size_t i = 0; i < len; i++) {
    ret[2 * i] = digits[bytes[i] >> 4];
    ret[2 * i + 1] = digits[bytes[i] & 15];
  }
  ret[2 * len] = '\0';
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

bool oc_unhex(const char *s, uint8_t *ret, size_t len)
{
  if (strlen(s) != 2 * len)
    return false;
  for (size_t i = 0; i < 2 * len; i++) {
    if (hex_digit(s[i]) < 0)
      return false;
  }
  for (size_t i = 0; i < len; i++)
    ret[i] = (uint8_t)(hex_digit(s[2 * i]) << 4 | hex_digit(s[2 * i + 1]));
  return true;
}

/* Bytes of the sequence that starts with `c`; 0 when nothing may start so. */
static size_t sequence_length(unsigned char c)
{
  if (c < 0x80)
    return c ? 1 : 0;
  if (c >= 0xc2 && c <= 0xdf)
    return 2;
  if (c >= 0xe0 && c <= 0xef)
    return 3;
  return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

/* The second byte has a narrower range after some first bytes: over-long forms,
 * surrogates and what lies above U+10FFFF. */
static bool second_byte_ok(unsigned char first, unsigned char second)
{
  unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

  return second >= low && second <= high;
}

bool oc_utf8_valid(struct oc_str s)
{
  const unsigned char *p = (const unsigned char *)s.p;

  for (size_t i = 0; i < s.len;) {
    size_t n = sequence_length(p[i]);
    if (!n || n > s.len - i || (n > 1 && !second_byte_ok(p[i], p[i + 1])))
      return false;
    for (size_t k = 2; k < n; k++) {
      if ((p[i + k] & 0xc0) != 0x80)
        return false;
    }
    i += n;
  }
  return true;
}
