#include <device/abi.h>

#include "device/accelerator.h"
#include "test.h"

extern "C" tw::device::Accelerator* thalweg_backend(uint64_t abi_hash);

TEST(a_caller_with_other_headers_gets_no_backend) {
  CHECK(thalweg_backend(tw::device::kAbiHash) != nullptr);
  CHECK(thalweg_backend(tw::device::kAbiHash + 1) == nullptr);
}
