// Faults on purpose: proof that the sanitizer builds see what kernels do, on the pool's threads too. Run by
// ctest, which wants the sanitizer's report and not an exit status. `faults race` for thread, `faults
// overflow` for address.
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "device/cpu/parallel.h"

namespace {

// Every piece adds to one unguarded number.
int64_t race() {
  int64_t total = 0;
  for (int round = 0; round < 50; ++round) {
    tw::device::parallel_for(0, 100000, 10, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) total += i;
    });
  }
  return total;
}

// The last piece writes one element too far.
int64_t overflow() {
  std::vector<int64_t> values(1000);
  int64_t* data = values.data();
  tw::device::parallel_for(0, 1001, 10, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) data[i] = i;
  });
  return data[1];
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view fault = argc == 2 ? argv[1] : "";
  tw::device::set_num_threads(2);
  if (fault != "race" && fault != "overflow") return 2;
  std::printf("%lld\n", static_cast<long long>(fault == "race" ? race() : overflow()));
  return 0;
}
