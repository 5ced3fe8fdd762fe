/* The suites of this program. */
#ifndef OC_TEST_FLAGS_SUITES_H
#define OC_TEST_FLAGS_SUITES_H

#include <check.h>

TCase *parse_cases(void);
TCase *table_cases(void);
TCase *normal_cases(void);

#endif
