/* The stories of flow, one behaviour each, read from the effects it asks for. */
#ifndef TEST_FLOW_SUITES_H
#define TEST_FLOW_SUITES_H

#include "base/error.h"
#include "fake.h"

/* Opened and closed around each story, with the usual limits. */
extern struct fake k;

/* A builtin job up to a worker that builds. */
void until_building(uint64_t job, uint8_t key);
/* A job for the vendor's compiler that no cache has. */
uint64_t tool_job(void);

TCase *result_cases(void);
TCase *worker_cases(void);
TCase *waiter_cases(void);
TCase *limit_cases(void);

#endif
