/* Suggestions for mistyped names.
 *
 * The distance is the restricted one of Damerau: insert, delete, replace and swapping
 * two neighbours cost one each, three rows of the table are enough. For suggestions the
 * costs are finer: a wrong case or a dash for an underscore is half a letter. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define MAX_LENGTH ((size_t)256)
/* Costs are counted in halves. */
#define WHOLE 2u
/* More than five wrong letters is another word, however long the word is. */
#define MOST_LETTERS 5u

struct rows {
  unsigned cells[3][MAX_LENGTH + 1];
};

static const char *tail(const char *s, size_t *ret_len)
{
  size_t len = strlen(s);
  size_t cut = len > MAX_LENGTH ? len - MAX_LENGTH : 0;

  *ret_len = len - cut;
  return s + cut;
}

static char fold(char c)
{
  if (c >= 'A' && c <= 'Z')
    return (char)(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

static unsigned replace_cost(char a, char b, bool fine)
{
  if (a == b)
    return 0;
  return fine && fold(a) == fold(b) ? WHOLE / 2 : WHOLE;
}

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Distance in halves; anything over `limit` when it is over it. Words of other lengths
 * are told apart at once, other words after a few rows: what a stranger sends is measured
 * against hundreds of names. */
static unsigned measure(const char *a, const char *b, bool fine, unsigned limit)
{
  size_t n = 0;
  size_t m = 0;
  unsigned before = 0; /* least cell of the row above */
  struct rows rows;

  a = tail(a, &n);
  b = tail(b, &m);
  if ((n > m ? n - m : m - n) * WHOLE > limit)
    return limit + 1;
  for (size_t j = 0; j <= m; j++)
    rows.cells[0][j] = (unsigned)j * WHOLE;
  for (size_t i = 1; i <= n; i++) {
    unsigned *row = rows.cells[i % 3];
    const unsigned *up = rows.cells[(i + 2) % 3];
    const unsigned *up2 = rows.cells[(i + 1) % 3];
    unsigned here = row[0] = (unsigned)i * WHOLE;
    for (size_t j = 1; j <= m; j++) {
      unsigned best = least(up[j], row[j - 1]) + WHOLE;
      best = least(best, up[j - 1] + replace_cost(a[i - 1], b[j - 1], fine));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = least(best, up2[j - 2] + WHOLE);
      row[j] = best;
      here = least(here, best);
    }
    /* Cells grow from the two rows above. */
    if (least(before, here) > limit)
      return limit + 1;
    before = here;
  }
  return rows.cells[n % 3][m];
}

unsigned oc_str_distance(const char *a, const char *b, unsigned limit)
{
  unsigned d = measure(a, b, false, least(limit, MAX_LENGTH) * WHOLE + 1) / WHOLE;

  return d > limit ? limit + 1 : d;
}

static size_t common_prefix(const char *a, const char *b)
{
  size_t n = 0;

  while (a[n] && a[n] == b[n])
    n++;
  return n;
}

const char *oc_str_nearest(const char *word, const char *const *names, size_t n)
{
  size_t len = strlen(word);
  unsigned most = MOST_LETTERS * WHOLE, best_d = 0;
  const char *best = NULL;

  if (len / 3 < MOST_LETTERS)
    most = (unsigned)(len * WHOLE / 3);
  for (size_t i = 0; i < n; i++) {
    unsigned d = measure(word, names[i], true, best ? best_d : most);

    /* Of equals the one that begins alike: people slip late in a word. */
    if (d > most || (best && d > best_d) ||
        (best && d == best_d &&
         common_prefix(word, names[i]) <= common_prefix(word, best)))
      continue;
    best = names[i];
    best_d = d;
  }
  return best;
}
