/* A fuzz target is one function over bytes. libFuzzer calls it with what it invents; the
 * replay program calls it with the files of a corpus, so that every build runs that. */
#ifndef OC_FUZZ_TARGET_H
#define OC_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* What a run may allocate: inputs are at most 64 KiB, and memory is to stay a small
 * multiple of what a model describes. */
#define FUZZ_ARENA_CAP ((size_t)256 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
