/* Runs the cases of the list formats. */
#include "suites.h"

void fixture_init(struct fixture *f)
{
  oc_arena_init(&f->arena, 0);
  oc_findings_init(&f->findings, &f->arena);
}

void fixture_clear(struct fixture *f)
{
  oc_arena_clear(&f->arena);
}

bool fixture_has(const struct fixture *f, enum oc_finding_id id)
{
  for (size_t i = 0; i < f->findings.n; i++)
    if (f->findings.items[i].id == id)
      return true;
  return false;
}

int main(void)
{
  Suite *s = suite_create("lists");

  suite_add_tcase(s, keep_cases());
  suite_add_tcase(s, custom_cases());
  suite_add_tcase(s, mix_cases());
  suite_add_tcase(s, impl_cases());
  suite_add_tcase(s, aipp_cases());
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? 1 : 0;
}
