/* The table of IR signatures, for ir_names.c and its test. */
#ifndef OC_IMPORT_IR_TABLE_H
#define OC_IMPORT_IR_TABLE_H

#include <stddef.h>

struct import_signature {
  const char *type;
  const char *inputs;
  const char *outputs;
};

extern const struct import_signature import_ir_table[];
extern const size_t import_n_ir_types;

#endif
