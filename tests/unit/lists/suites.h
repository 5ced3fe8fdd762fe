/* The test cases of this program, and what they share. */
#ifndef OC_TESTS_LISTS_SUITES_H
#define OC_TESTS_LISTS_SUITES_H

#include <check.h>

#include "base/cleanup.h"
#include "lists/lists.h"

struct fixture {
  struct oc_arena arena;
  struct oc_findings findings;
};
void fixture_init(struct fixture *f);
void fixture_clear(struct fixture *f);
bool fixture_has(const struct fixture *f, enum oc_finding_id id);

TCase *keep_cases(void);
TCase *custom_cases(void);
TCase *mix_cases(void);
TCase *impl_cases(void);
TCase *aipp_cases(void);

#endif
