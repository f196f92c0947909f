// The checks behind every access of a kernel to memory. Kernels are compiled with -fsanitize=thread, whose
// hooks (hooks.cc) call these; the sanitizer's own library is not linked.
#pragma once

#include <cstddef>

namespace tw::cuda::emulator {

// Of device memory: the bytes belong to a block, were written before they are read, and are aligned to the
// size.
void check_read(const void* data, size_t size_bytes);
void check_write(const void* data, size_t size_bytes);
void check_atomic(const void* data, size_t size_bytes);
// A wide access that the compiler may split: as a whole it must be aligned.
void check_alignment(const void* data, size_t size_bytes);

}  // namespace tw::cuda::emulator
