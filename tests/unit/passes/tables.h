/* The tables of schema/ for tests of passes. */
#ifndef TABLES_H
#define TABLES_H

#include "base/arena.h"
#include "optable/optable.h"

/* The caller frees them; paths are made in the arena. */
struct oc_optable *load_tables(struct oc_arena *arena);

#endif
