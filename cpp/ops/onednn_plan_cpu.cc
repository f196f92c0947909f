#include "ops/onednn_plan_cpu.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>

#include "base/error.h"

namespace tw::ops {

using dnnl::memory;

const dnnl::engine& onednn_engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& onednn_stream() {
  static thread_local dnnl::stream instance(onednn_engine());
  return instance;
}

ConvSide::ConvSide(memory::desc outside, memory::desc inside, bool in)
    : outer(std::move(outside)), inner(std::move(inside)) {
  same = outer == inner;
  if (same) return;
  if (in)
    to_inner = dnnl::reorder({onednn_engine(), outer, onednn_engine(), inner});
  else
    to_outer = dnnl::reorder({onednn_engine(), inner, onednn_engine(), outer});
}

namespace {

constexpr size_t kMostPlans = 1024;

memory::dims spatial(const std::array<int64_t, 3>& values, int dims) {
  return memory::dims(values.end() - dims, values.end());
}

memory::dims with_spatial(memory::dims head, const std::array<int64_t, 3>& values, int dims) {
  for (int i = 3 - dims; i < 3; i++) head.push_back(values[i]);
  return head;
}

int64_t product(const memory::dims& sizes, size_t first) {
  int64_t result = 1;
  for (size_t i = first; i < sizes.size(); i++) result *= sizes[i];
  return result;
}

// A piece of a tensor whose dim `channel_dim` is cut out of `channels`; dims before it lie outside, those
// after it inside the channels, or around them where these are last.
memory::desc strided_desc(const memory::dims& sizes, size_t channel_dim, int64_t channels, bool last) {
  memory::dims strides(sizes.size(), 1);
  int64_t positions = product(sizes, channel_dim + 1), step = last ? channels : 1;
  for (size_t i = sizes.size(); i-- > channel_dim + 1;) {
    strides[i] = step;
    step *= sizes[i];
  }
  strides[channel_dim] = last ? 1 : positions;
  step = channels * positions;
  for (size_t i = channel_dim; i-- > 0;) {
    strides[i] = step;
    step *= sizes[i];
  }
  return {sizes, memory::data_type::f32, strides};
}

memory::desc any_layout(const memory::dims& sizes) {
  return {sizes, memory::data_type::f32, memory::format_tag::any};
}

// The sizes of one piece.
struct PieceSizes {
  memory::dims x, y, w, stride, before, after, dilation;
  size_t w_channel_dim;  // where w's input channels stand

  explicit PieceSizes(const ConvPlanKey& key) {
    const ConvGeometry& g = key.g;
    bool output_split = splits_output(key.direction);
    int64_t in = output_split ? g.in_channels : key.channels,
            out = output_split ? key.channels : g.out_channels;
    x = with_spatial({key.images, in}, g.in, g.dims);
    y = with_spatial({key.images, out}, g.out, g.dims);
    w = with_spatial(
        g.groups == 1 ? memory::dims{out, in} : memory::dims{g.groups, out / g.groups, in / g.groups},
        g.kernel, g.dims);
    w_channel_dim = g.groups == 1 ? 1 : 2;
    for (int i = 3 - g.dims; i < 3; i++) {
      after.push_back(g.padding_after(i));
      dilation.push_back(g.dilation[i] - 1);
    }
    stride = spatial(g.stride, g.dims);
    before = spatial(g.padding, g.dims);
  }
};

// Where windows of one position lie apart, kernels gather these first, in rows of whole vectors of channels,
// while the workspace that they ask for has as many channels as there are (oneDNN 3.2, AVX2, channels-last, 3
// channels): what they write beyond it is room to spare here.
size_t workspace_bytes_of(const ConvPlanKey& key, const memory::desc& workspace) {
  const ConvGeometry& g = key.g;
  size_t asked = workspace.get_size();
  if (asked == 0 || g.taps() > 1 || g.stride == std::array<int64_t, 3>{1, 1, 1}) return asked;
  constexpr int64_t kLanes = 16;
  int64_t channels = (std::max(g.in_channels, g.out_channels) + kLanes - 1) / kLanes * kLanes;
  return asked + static_cast<size_t>(key.images * channels * g.out_positions()) * sizeof(float);
}

bool is_reference(const char* implementation) { return std::string_view(implementation).starts_with("ref"); }

std::shared_ptr<const ConvPlan> make_plan(const ConvPlanKey& key) {
  const ConvGeometry& g = key.g;
  PieceSizes s(key);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  memory::desc bias =
      key.bias ? memory::desc({s.y[1]}, memory::data_type::f32, memory::format_tag::a) : memory::desc();
  auto wanted = [&](const memory::dims& sizes) {
    return g.channels_last && !key.blocked ? strided_desc(sizes, 1, sizes[1], true) : any_layout(sizes);
  };
  memory::desc x = wanted(s.x), y = wanted(s.y), w = any_layout(s.w);
  auto algorithm = dnnl::algorithm::convolution_direct;
  auto kind = key.direction == ConvDirection::kForward ? dnnl::prop_kind::forward_inference
                                                       : dnnl::prop_kind::forward_training;
  dnnl::convolution_forward::primitive_desc forward(onednn_engine(), kind, algorithm, x, w, bias, y, s.stride,
                                                    s.dilation, s.before, s.after, attr);
  memory::desc outer_x = strided_desc(s.x, 1, g.in_channels, g.channels_last);
  memory::desc outer_y = strided_desc(s.y, 1, g.out_channels, g.channels_last);
  memory::desc outer_w = strided_desc(s.w, s.w_channel_dim, g.in_channels / g.groups, g.weight_last);
  auto plan = std::make_shared<ConvPlan>();
  const char* implementation = "";
  plan->bias = bias;
  if (key.direction == ConvDirection::kForward) {
    plan->primitive = dnnl::convolution_forward(forward);
    plan->x = ConvSide(outer_x, forward.src_desc(), true);
    plan->w = ConvSide(outer_w, forward.weights_desc(), true);
    plan->y = ConvSide(outer_y, forward.dst_desc(), false);
    plan->workspace = forward.scratchpad_desc();
    implementation = forward.impl_info_str();
  } else if (key.direction == ConvDirection::kInput) {
    dnnl::convolution_backward_data::primitive_desc backward(onednn_engine(), algorithm, x, w, y, s.stride,
                                                             s.dilation, s.before, s.after, forward, attr);
    plan->primitive = dnnl::convolution_backward_data(backward);
    plan->x = ConvSide(outer_x, backward.diff_src_desc(), false);
    plan->w = ConvSide(outer_w, backward.weights_desc(), true);
    plan->y = ConvSide(outer_y, backward.diff_dst_desc(), true);
    plan->workspace = backward.scratchpad_desc();
    implementation = backward.impl_info_str();
  } else {
    dnnl::convolution_backward_weights::primitive_desc backward(onednn_engine(), algorithm, x, w, y, s.stride,
                                                                s.dilation, s.before, s.after, forward, attr);
    plan->primitive = dnnl::convolution_backward_weights(backward);
    plan->x = ConvSide(outer_x, backward.src_desc(), true);
    plan->w = ConvSide(outer_w, backward.diff_weights_desc(), false);
    plan->y = ConvSide(outer_y, backward.diff_dst_desc(), true);
    plan->workspace = backward.scratchpad_desc();
    implementation = backward.impl_info_str();
  }
  plan->workspace_bytes = workspace_bytes_of(key, plan->workspace);
  if (g.channels_last && !key.blocked && is_reference(implementation)) {
    ConvPlanKey blocked = key;
    blocked.blocked = true;
    return make_plan(blocked);
  }
  return plan;
}

}  // namespace

std::shared_ptr<const ConvPlan> conv_plan_for(const ConvPlanKey& key) {
  static std::mutex mutex;
  static std::map<ConvPlanKey, std::shared_ptr<const ConvPlan>> plans;
  std::lock_guard lock(mutex);
  auto found = plans.find(key);
  if (found != plans.end()) return found->second;
  OneThread one_thread;
  std::shared_ptr<const ConvPlan> plan;
  try {
    plan = make_plan(key);
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) TW_FAIL(kOutOfMemory, "convolution: oneDNN is out of memory");
    // Paddings beyond what it takes count as invalid.
    if (e.status != dnnl_unimplemented && e.status != dnnl_invalid_arguments)
      TW_FAIL(kInternal, "convolution: oneDNN says ", e.what());
  }
  if (plans.size() >= kMostPlans) plans.clear();
  return plans[key] = plan;
}

}  // namespace tw::ops
