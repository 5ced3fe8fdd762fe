/* All suites of the server, each test with a server of its own. */
#include <check.h>
#include <stdlib.h>

#include "suites.h"

int main(void)
{
  SRunner *r = srunner_create(protocol_suite());
  int failed;

  srunner_add_suite(r, jobs_suite());
  srunner_add_suite(r, life_suite());
  srunner_add_suite(r, tool_suite());
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
