/* Tests of libomcc against real files and a scripted daemon. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
  Suite *s = suite_create("lib");
  SRunner *r;
  int failed;

  suite_add_tcase(s, files_cases());
  suite_add_tcase(s, place_cases());
  suite_add_tcase(s, where_cases());
  suite_add_tcase(s, session_cases());
  r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
