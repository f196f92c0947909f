#pragma once

namespace tw::ops {

struct AttentionAttrs {
  double scale;
  bool is_causal;
};

}  // namespace tw::ops
