#include "device/kernel.h"

namespace tw::device {

void KernelTable::add(std::string_view op, Kernel kernel) {
  bool fresh = kernels_.emplace(std::string(op), kernel).second;
  TW_CHECK(fresh, kInternal, "the kernel of ", op, " is registered twice");
}

Kernel KernelTable::find(std::string_view op) const {
  auto found = kernels_.find(std::string(op));
  return found == kernels_.end() ? nullptr : found->second;
}

}  // namespace tw::device
