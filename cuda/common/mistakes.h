// What is wrong with the values that a kernel is given, told without the host waiting for the kernel: an
// index out of bounds, a division by zero.
//
// A kernel writes a note into host memory that the device sees; whoever waits for a device next (a copy to
// the host, synchronize()) finds it and throws, once, as the op would have. Kernels go on without touching
// what a wrong value names, so that results that were to depend on it are of no use, and all else is.
//
//   MistakeNote note = mistake_note(k.op, out_of_table);  // throws, given op, value and limit
//   launch(k.op, lookup_rows, grid, note, ...);
//   if (index >= rows) note(index, rows);      // in the kernel
//
// Of several mistakes that are there when somebody looks one is told: the others may be its consequences. A
// note stays where it is as long as the process lives, so that recorded launches may write it.
#pragma once

#include <cstdint>

#include "cuda/common/vector.h"

namespace tw::cuda {

// Throws the error that a note stands for.
using TellMistake = void (*)(const char* op, int64_t value, int64_t limit);

// What a kernel is given.
struct MistakeNote {
  Pack<int64_t, 2>* at;  // the value, and its limit as `sealed` makes it: 0 while nothing is wrong

  // Any number of threads may do so: the note of one stays, since it is one store, of the first unless
  // several are at it side by side.
  TW_DEVICE void operator()(int64_t value = 0, int64_t limit = 0) const {
    if (*const_cast<const volatile int64_t*>(&at->at[1]) != 0) return;
    Pack<int64_t, 2> note{{value, sealed(limit)}};
    store_pack(reinterpret_cast<int64_t*>(at), note);
  }
  TW_BOTH static int64_t sealed(int64_t limit) { return limit + 1; }
  static int64_t unsealed(int64_t limit) { return limit - 1; }
};

// A limit that is the size of a dim, and the dim, as one number.
TW_BOTH int64_t size_of_dim(int64_t size, int64_t dim) { return dim << 48 | size; }
// A TellMistake for it: kIndex.
void index_out_of_bounds(const char* op, int64_t index, int64_t size_of_dim);

// The note of an op and a kind of mistake, the same whenever it is asked for. `op` has to live as long as the
// process does.
MistakeNote mistake_note(const char* op, TellMistake tell);

// Throws what the first note that is there stands for, and takes all away. Host code calls this when it has
// waited for a device.
void check_mistakes();

}  // namespace tw::cuda
