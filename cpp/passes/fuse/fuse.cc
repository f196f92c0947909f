#include "passes/fuse/fuse.h"

#include "passes/pass.h"

namespace tw::passes {

std::span<const Pass> fuse_passes() {
  static constexpr Pass kPasses[] = {
      {"scatter_sums", put_scatters_together, false, "select_scatter_sum"},
      {"convolution_epilogues", put_epilogues_into_convolutions, false, "convolution_then"},
      {"by_rows", group_by_rows, false, "by_rows"},
  };
  return kPasses;
}

}  // namespace tw::passes
