/* Tests of proto/flags: the parser, the table, the normal form. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
  Suite *s = suite_create("flags");
  SRunner *r;
  int failed;

  suite_add_tcase(s, parse_cases());
  suite_add_tcase(s, table_cases());
  suite_add_tcase(s, normal_cases());
  r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
