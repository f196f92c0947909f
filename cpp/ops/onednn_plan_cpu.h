// oneDNN's primitives for pieces of convolutions, cached by shape.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <tuple>

#include "device/cpu/one_thread.h"
#include "ops/convolution_geometry.h"

namespace tw::ops {

using device::OneThread;

const dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();  // of this thread

// What lies in the caller's memory and, where oneDNN wants another layout, the reorder between them.
struct ConvSide {
  dnnl::memory::desc outer, inner;
  bool same = true;
  dnnl::reorder to_inner, to_outer;

  ConvSide() = default;
  ConvSide(dnnl::memory::desc outside, dnnl::memory::desc inside, bool in);
};

struct ConvPlan {
  dnnl::primitive primitive;
  ConvSide x, w, y;
  dnnl::memory::desc bias, workspace;
  size_t workspace_bytes =
      0;  // that the primitive is to be given: more than its description says, see the .cc
};

// One primitive: `images` of them, and `channels` of the split channels: of y going forward and for weights,
// of x going backward. `blocked`: on layouts that oneDNN chooses, also where tensors lie channels-last.
struct ConvPlanKey {
  ConvDirection direction;
  bool bias, blocked;
  int64_t images, channels;
  ConvGeometry g;

  auto tie() const {
    return std::tie(direction, bias, blocked, images, channels, g.groups, g.in_channels, g.out_channels, g.in,
                    g.out, g.kernel, g.stride, g.padding, g.dilation, g.dims, g.channels_last, g.weight_last);
  }
  bool operator<(const ConvPlanKey& other) const { return tie() < other.tie(); }
};

inline bool splits_output(ConvDirection direction) { return direction != ConvDirection::kInput; }

// Null where oneDNN has no implementation.
std::shared_ptr<const ConvPlan> conv_plan_for(const ConvPlanKey& key);

}  // namespace tw::ops
