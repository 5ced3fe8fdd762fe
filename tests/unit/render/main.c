/* Tests of client/render: a hand-made report as text and as JSON. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
  Suite *s = suite_create("render");
  SRunner *r;
  int failed;

  suite_add_tcase(s, text_cases());
  suite_add_tcase(s, json_cases());
  suite_add_tcase(s, explain_cases());
  r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
