/* The suites of test_server. */
#ifndef TEST_SERVER_SUITES_H
#define TEST_SERVER_SUITES_H

#include <check.h>

Suite *protocol_suite(void);
Suite *jobs_suite(void);
Suite *life_suite(void);
Suite *tool_suite(void);

#endif
