/* Runs the suites of the resolver. */
#include <stdlib.h>

#include "support.h"

int main(void)
{
  Suite *s = suite_create("precision");
  TCase *cases[] = { mode_cases(),  mark_cases(), match_cases(), chip_cases(),
                     state_cases(), port_cases(), body_cases(),  property_cases() };

  for (size_t i = 0; i < OC_COUNT(cases); i++) {
    tcase_add_unchecked_fixture(cases[i], tables_load, tables_free);
    tcase_set_timeout(cases[i], 60);
    suite_add_tcase(s, cases[i]);
  }
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
