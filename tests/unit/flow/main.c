/* Runs the stories, each with a flow of its own. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "suites.h"

struct fake k;

static void open_default(void)
{
  fake_open(&k, &fake_limits);
}

static void close_default(void)
{
  fake_close(&k);
}

void until_building(uint64_t job, uint8_t key)
{
  oc_flow_keyed(k.flow, k.now, job, fake_key(key));
  oc_flow_planned(k.flow, k.now, job, fake_key((uint8_t)(key + 100)), true);
}

uint64_t tool_job(void)
{
  struct oc_flow_order order = { .uid = 1, .uses_tool = true, .waiter = { 1, 7 } };
  uint64_t job = fake_job_as(&k, &order);

  oc_flow_keyed(k.flow, k.now, job, fake_key(1));
  return job;
}

int main(void)
{
  Suite *s = suite_create("flow");
  TCase *cases[] = { result_cases(), worker_cases(), waiter_cases(), limit_cases() };

  for (size_t i = 0; i < OC_COUNT(cases); i++) {
    tcase_add_checked_fixture(cases[i], open_default, close_default);
    suite_add_tcase(s, cases[i]);
  }
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
