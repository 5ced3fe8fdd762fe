/* One op written as a line of text, inferred, and compared with what is expected.
 *
 * inputs   words: f32[1,3,a]  a graph input (letters are symbolic dims, ? an unknown one,
 *          f32[*] no rank); i64{1,2} a constant vector; i32(5) a constant scalar; - none
 * attrs    words: name:i=3  name:I=1,2 (name:I= for an empty list)  name:s=text
 *          name:b=1  name:f=0.5  name:d=int64
 * outputs  words as for inputs; a letter has to be the same dim as in the inputs, ? has
 * to be unknown, {..} and (..) give a value that has to be known. "!" alone: a
 *          contradiction has to be found. */
#ifndef TEST_INFER_ROW_H
#define TEST_INFER_ROW_H

#include <check.h>

#include "infer/infer.h"

struct row {
  const char *type;
  const char *inputs;
  const char *attrs;
  const char *outputs;
};

/* Fails the test with the row's number and what differs. */
void check_row(const struct row *row, int number);

#endif
