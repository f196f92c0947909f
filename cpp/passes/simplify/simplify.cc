#include "passes/simplify/simplify.h"

#include "passes/pass.h"

namespace tw::passes {

std::span<const Pass> simplify_passes() {
  static constexpr Pass kPasses[] = {
      {"identity", remove_identities}, {"constant_folding", fold_constants},
      {"algebraic", simplify_algebra}, {"common_subexpressions", share_common_subexpressions},
      {"dead_code", remove_dead_code}, {"region_operands", remove_region_operands},
  };
  return kPasses;
}

}  // namespace tw::passes
