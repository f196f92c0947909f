#include "device/accelerator.h"

#include "test.h"

namespace tw::device {

TEST(a_library_that_cannot_be_used_is_a_sentence) {
  std::string missing = load_accelerator("/nowhere/libthalweg_cuda.so");
  CHECK(missing.find("the CUDA library cannot be loaded: /nowhere/libthalweg_cuda.so") == 0);
  std::string other = load_accelerator("libm.so.6");
  CHECK(other.find("libm.so.6 is no backend of thalweg") == 0);
  CHECK(find_accelerator() == nullptr);
}

TEST(devices_without_a_backend_are_named) {
  CHECK_EQ(&backend_of(Device{}), &cpu_backend());
  CHECK_THROWS(Error, backend_of(parse_device("cuda:1")), "there is no backend for device cuda:1");
  CHECK_THROWS(Error, accelerator(), "there is no CUDA backend");
}

}  // namespace tw::device
