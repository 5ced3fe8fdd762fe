/* tensorflow_seeds TEXT FOLDER: a GraphDef per block of lines
 * (tests/unit/import/tf_text.h says what a line is; an empty line ends a block), as
 * FOLDER/text-N. The writer of the lines reports by Check, so this is a suite of one
 * test. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "shipped/shipped.h"
#include "tf_text.h"

static const char *folder;
static char *text;

static void write_block(int number, const char *block)
{
  char path[4096];
  struct oc_buf out;

  snprintf(path, sizeof path, "%s/text-%d", folder, number);
  oc_buf_init(&out, 1 << 20);
  tf_graph_from(block, &out);
  auto_fclose FILE *f = fopen(path, "we");
  ck_assert_msg(f && fwrite(out.data, 1, out.len, f) == out.len, "%s", path);
  oc_buf_clear(&out);
}

START_TEST(write_all)
{
  int n = 0;

  for (char *block = text; block;) {
    char *end = strstr(block, "\n\n");
    if (end)
      end[1] = '\0';
    write_block(n++, block);
    block = end ? end + 2 : NULL;
  }
  ck_assert_int_gt(n, 1);
}
END_TEST

int main(int argc, char **argv)
{
  size_t len = 0;

  text = argc == 3 ? oc_shipped_file(argv[1], &len) : NULL;
  if (!text) {
    fprintf(stderr, "use: tensorflow_seeds TEXT FOLDER\n");
    return 1;
  }
  folder = argv[2];
  Suite *s = suite_create("tensorflow_seeds");
  TCase *c = tcase_create("all");
  tcase_add_test(c, write_all);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_set_fork_status(r, CK_NOFORK);
  srunner_run_all(r, CK_MINIMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  free(text);
  return failed != 0;
}
