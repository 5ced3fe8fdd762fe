/* A stand-in for everything around flow: effects are written down, not done. */
#ifndef TEST_FLOW_FAKE_H
#define TEST_FLOW_FAKE_H

#include <check.h>

#include "base/buf.h"
#include "flow/flow.h"
#include "flow/flow_internal.h"

#define SECOND 1000000000ull

struct fake {
  struct oc_flow *flow;
  struct oc_buf log; /* one word per effect: "plan 1", "answer 1 7 result", ... */
  uint64_t now;
  int plan_result, build_result, run_result, publish_result, store_result, fetch_result;
  bool object_known;
  /* What the simulation asserts. */
  uint64_t n_answers, n_forgotten, n_opened;
  unsigned working; /* started and not ended */
  bool quiet;
};

void fake_open(struct fake *k, const struct oc_flow_limits *limits);
void fake_close(struct fake *k);
/* What was logged since the last call, compared and dropped. */
void fake_expect(struct fake *k, const char *log);

extern const struct oc_flow_limits fake_limits;

uint64_t fake_job(struct fake *k, uint32_t uid, uint64_t request);
uint64_t fake_job_as(struct fake *k, const struct oc_flow_order *order);
/* A 32-byte key made of one byte. */
const uint8_t *fake_key(uint8_t byte);

#endif
