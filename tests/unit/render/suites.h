/* The suites of this program and the report that all of them render. */
#ifndef OC_TEST_RENDER_SUITES_H
#define OC_TEST_RENDER_SUITES_H

#include <check.h>

#include "render/render.h"

TCase *text_cases(void);
TCase *json_cases(void);
TCase *explain_cases(void);

/* Two inputs, a lowered Conv2D, a kept Relu, a Sign on AI CPU; a list of two entries. */
const Omcc__V1__Report *sample_report(struct oc_arena *arena);
/* Lines of that list: entry 1 is line 1, entry 2 is line 3 of keep.cfg. */
extern const struct oc_places sample_places;

#endif
