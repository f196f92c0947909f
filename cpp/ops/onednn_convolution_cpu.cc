#include "ops/onednn_convolution_cpu.h"

#include <algorithm>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "device/cpu/parallel.h"
#include "device/cpu/scratch.h"

// oneDNN's own OpenMP run time; libdnnl brings it.
extern "C" __attribute__((weak)) void omp_set_num_threads(int count);
extern "C" __attribute__((weak)) int omp_get_max_threads();

namespace tw::ops {

using device::Scratch;
using dnnl::memory;

namespace {

constexpr int64_t kChunkBytes = 768 << 10;  // of x and y together: what a second-level cache holds
constexpr int64_t kLargeWeight = 1 << 20;   // bytes beyond which weight gradients are not kept one a chunk
constexpr int kMostPartials = 8;
constexpr size_t kMostPlans = 1024;

// oneDNN runs on this thread alone while this lives. OpenMP's count belongs to the thread, and to everybody
// in the process who uses the same run time, as torch does: it is put back.
class OneThread {
 public:
  OneThread() {
    TW_CHECK(omp_set_num_threads && omp_get_max_threads, kInternal,
             "convolution: the OpenMP run time of oneDNN was not found");
    before_ = omp_get_max_threads();
    omp_set_num_threads(1);
  }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream instance(engine());
  return instance;
}

// What lies plainly in the caller's memory and, where oneDNN wants another layout, the reorder between them.
struct Side {
  memory::desc plain, inner;
  bool same = true;
  dnnl::reorder to_inner, to_plain;

  Side() = default;
  Side(memory::desc outside, memory::desc inside, bool in)
      : plain(std::move(outside)), inner(std::move(inside)) {
    same = plain == inner;
    if (same) return;
    if (in)
      to_inner = dnnl::reorder({engine(), plain, engine(), inner});
    else
      to_plain = dnnl::reorder({engine(), inner, engine(), plain});
  }
  size_t bytes() const { return inner.get_size(); }
};

struct Plan {
  dnnl::primitive primitive;
  Side x, w, y;
  memory::desc bias, workspace;
};

// One primitive: `images` of them, and `channels` of the split channels.
struct PlanKey {
  ConvDirection direction;
  bool bias;
  int64_t images, channels;
  ConvGeometry g;

  auto tie() const {
    return std::tie(direction, bias, images, channels, g.groups, g.in_channels, g.out_channels, g.in, g.out,
                    g.kernel, g.stride, g.padding, g.dilation, g.dims);
  }
  bool operator<(const PlanKey& other) const { return tie() < other.tie(); }
};

memory::dims spatial(const std::array<int64_t, 3>& values, int dims) {
  return memory::dims(values.end() - dims, values.end());
}

memory::dims with_spatial(memory::dims head, const std::array<int64_t, 3>& values, int dims) {
  for (int i = 3 - dims; i < 3; i++) head.push_back(values[i]);
  return head;
}

// Row-major strides, with the batch (or output channel) stride given.
memory::desc plain_desc(const memory::dims& sizes, int64_t first_stride) {
  memory::dims strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  strides[0] = first_stride;
  return {sizes, memory::data_type::f32, strides};
}

memory::desc any_layout(const memory::dims& sizes) {
  return {sizes, memory::data_type::f32, memory::format_tag::any};
}

// The channels that pieces split: of y going forward and for weights, of x going backward.
bool splits_output(ConvDirection direction) { return direction != ConvDirection::kInput; }

std::shared_ptr<const Plan> make_plan(const PlanKey& key) {
  const ConvGeometry& g = key.g;
  bool output_split = splits_output(key.direction);
  int64_t in_channels = output_split ? g.in_channels : key.channels;
  int64_t out_channels = output_split ? key.channels : g.out_channels;
  int dims = g.dims;
  memory::dims x = with_spatial({key.images, in_channels}, g.in, dims);
  memory::dims y = with_spatial({key.images, out_channels}, g.out, dims);
  memory::dims w = g.groups == 1 ? with_spatial({out_channels, in_channels}, g.kernel, dims)
                                 : with_spatial({g.groups, out_channels / g.groups, in_channels / g.groups},
                                                g.kernel, dims);
  memory::dims after, dilation;
  for (int i = 3 - dims; i < 3; i++) {
    after.push_back(g.padding_after(i));
    dilation.push_back(g.dilation[i] - 1);
  }
  memory::dims stride = spatial(g.stride, dims), before = spatial(g.padding, dims);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  memory::desc bias =
      key.bias ? memory::desc({out_channels}, memory::data_type::f32, memory::format_tag::a) : memory::desc();
  auto auto_algorithm = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc forward(engine(),
                                                    key.direction == ConvDirection::kForward
                                                        ? dnnl::prop_kind::forward_inference
                                                        : dnnl::prop_kind::forward_training,
                                                    auto_algorithm, any_layout(x), any_layout(w), bias,
                                                    any_layout(y), stride, dilation, before, after, attr);
  memory::desc outer_x = plain_desc(x, g.in_channels * g.in_positions());
  memory::desc outer_y = plain_desc(y, g.out_channels * g.out_positions());
  memory::desc outer_w =
      plain_desc(w, g.groups == 1 ? g.in_channels * g.taps()
                                  : g.out_channels / g.groups * (g.in_channels / g.groups) * g.taps());
  auto plan = std::make_shared<Plan>();
  plan->bias = bias;
  if (key.direction == ConvDirection::kForward) {
    plan->primitive = dnnl::convolution_forward(forward);
    plan->x = Side(outer_x, forward.src_desc(), true);
    plan->w = Side(outer_w, forward.weights_desc(), true);
    plan->y = Side(outer_y, forward.dst_desc(), false);
    plan->workspace = forward.scratchpad_desc();
  } else if (key.direction == ConvDirection::kInput) {
    dnnl::convolution_backward_data::primitive_desc backward(engine(), auto_algorithm, any_layout(x),
                                                             any_layout(w), any_layout(y), stride, dilation,
                                                             before, after, forward, attr);
    plan->primitive = dnnl::convolution_backward_data(backward);
    plan->x = Side(outer_x, backward.diff_src_desc(), false);
    plan->w = Side(outer_w, backward.weights_desc(), true);
    plan->y = Side(outer_y, backward.diff_dst_desc(), true);
    plan->workspace = backward.scratchpad_desc();
  } else {
    dnnl::convolution_backward_weights::primitive_desc backward(engine(), auto_algorithm, any_layout(x),
                                                                any_layout(w), any_layout(y), stride,
                                                                dilation, before, after, forward, attr);
    plan->primitive = dnnl::convolution_backward_weights(backward);
    plan->x = Side(outer_x, backward.src_desc(), true);
    plan->w = Side(outer_w, backward.diff_weights_desc(), false);
    plan->y = Side(outer_y, backward.diff_dst_desc(), true);
    plan->workspace = backward.scratchpad_desc();
  }
  return plan;
}

// Null where oneDNN has no implementation.
std::shared_ptr<const Plan> plan_for(const PlanKey& key) {
  static std::mutex mutex;
  static std::map<PlanKey, std::shared_ptr<const Plan>> plans;
  std::lock_guard lock(mutex);
  auto found = plans.find(key);
  if (found != plans.end()) return found->second;
  OneThread one_thread;
  std::shared_ptr<const Plan> plan;
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

// A tensor in the layout that the primitive wants: the caller's memory or a buffer.
class Inner {
 public:
  Inner(const Side& side, float* plain) : side_(side), plain_(side.plain, engine(), plain) {
    if (side.same) {
      inner_ = plain_;
    } else {
      buffer_ = Scratch(side.bytes());
      inner_ = memory(side.inner, engine(), buffer_.get());
    }
  }
  void load() {
    if (!side_.same) side_.to_inner.execute(stream(), plain_, inner_);
  }
  void store() {
    if (!side_.same) side_.to_plain.execute(stream(), inner_, plain_);
  }
  void aim(float* plain) {
    plain_.set_data_handle(plain);
    if (side_.same) inner_.set_data_handle(plain);
  }
  memory& get() { return inner_; }

 private:
  const Side& side_;
  Scratch buffer_;
  memory plain_, inner_;
};

struct Cuts {
  int64_t images;    // in a chunk
  int64_t channels;  // in a piece of the split channels
};

// Chunks of images, at least four of them where there are four; with fewer, the channels are cut too.
Cuts cuts_of(ConvDirection direction, const ConvGeometry& g) {
  int64_t image_bytes = 4 * (g.in_channels * g.in_positions() + g.out_channels * g.out_positions());
  int64_t split = splits_output(direction) ? g.out_channels : g.in_channels;
  // Weights larger than all images are read once: parts of the channels, each over all images.
  if (g.groups == 1 && split >= 128 && 4 * g.weight_count() > image_bytes * g.images)
    return {g.images, std::max<int64_t>(64, (split / 8 + 15) / 16 * 16)};
  int64_t images = std::clamp<int64_t>(kChunkBytes / std::max<int64_t>(1, image_bytes), 1,
                                       std::max<int64_t>(1, g.images / 4));
  int64_t chunks = (g.images + images - 1) / images;
  bool cut = chunks < 4 && g.groups == 1 && split >= 128;
  return {images, cut ? std::max<int64_t>(64, (split / 4 + 15) / 16 * 16) : split};
}

void run(const Plan& plan, ConvDirection direction, Inner& x, Inner& w, const float* bias, Inner& y,
         Scratch& space) {
  std::unordered_map<int, memory> args;
  bool forward = direction == ConvDirection::kForward;
  args.emplace(direction == ConvDirection::kInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x.get());
  args.emplace(direction == ConvDirection::kWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, w.get());
  args.emplace(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y.get());
  if (forward && bias) args.emplace(DNNL_ARG_BIAS, memory(plan.bias, engine(), const_cast<float*>(bias)));
  if (plan.workspace.get_size())
    args.emplace(DNNL_ARG_SCRATCHPAD, memory(plan.workspace, engine(), space.get()));
  plan.primitive.execute(stream(), args);
}

int64_t pieces_of(int64_t total, int64_t piece) { return (total + piece - 1) / piece; }

// Every piece writes its own images and channels. The weight is reordered once for each cut of the channels.
bool run_pieces(ConvDirection direction, const ConvGeometry& g, float* x, float* w, const float* bias,
                float* y) {
  Cuts cuts = cuts_of(direction, g);
  bool forward = direction == ConvDirection::kForward;
  int64_t split = forward ? g.out_channels : g.in_channels;
  int64_t chunks = pieces_of(g.images, cuts.images), parts = pieces_of(split, cuts.channels);
  auto key = [&](int64_t chunk, int64_t part) {
    return PlanKey{direction, bias != nullptr, std::min(cuts.images, g.images - chunk * cuts.images),
                   std::min(cuts.channels, split - part * cuts.channels), g};
  };
  int64_t w_step = cuts.channels * (forward ? g.in_channels / g.groups : 1) * g.taps();
  std::vector<std::shared_ptr<const Plan>> plans;  // of whole chunks and of the last one, for each part
  for (int64_t part = 0; part < parts; part++)
    for (int64_t chunk : {int64_t{0}, chunks - 1}) {
      plans.push_back(plan_for(key(chunk, part)));
      if (!plans.back()) return false;
    }
  std::vector<std::unique_ptr<Inner>> weights;  // a last chunk of another size may want another layout
  for (size_t i = 0; i < plans.size(); i++) {
    bool again = i % 2 == 1 && plans[i]->w.inner == plans[i - 1]->w.inner;
    weights.push_back(again ? nullptr
                            : std::make_unique<Inner>(plans[i]->w, w + static_cast<int64_t>(i / 2) * w_step));
  }
  device::parallel_for(0, static_cast<int64_t>(weights.size()), 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    for (int64_t i = first; i < last; i++)
      if (weights[i]) weights[i]->load();
  });
  device::parallel_for(0, chunks * parts, 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    for (int64_t i = first; i < last; i++) {
      int64_t chunk = i / parts, part = i % parts, n = chunk * cuts.images, c = part * cuts.channels;
      size_t which = part * 2 + (chunk == chunks - 1);
      const Plan& plan = *plans[which];
      Inner& weight = weights[which] ? *weights[which] : *weights[which - 1];
      int64_t x_channel = forward ? 0 : c, y_channel = forward ? c : 0;
      Inner from_x(plan.x, x + (n * g.in_channels + x_channel) * g.in_positions());
      Inner from_y(plan.y, y + (n * g.out_channels + y_channel) * g.out_positions());
      Scratch space(plan.workspace.get_size());
      (forward ? from_x : from_y).load();
      run(plan, direction, from_x, weight, bias ? bias + c : nullptr, from_y, space);
      (forward ? from_y : from_x).store();
    }
  });
  return true;
}

// Gradients of large weights: pieces are parts of the output channels, each over all images.
bool run_weight_parts(const ConvGeometry& g, float* x, float* w, float* y) {
  int64_t piece = g.groups == 1 ? std::max<int64_t>(16, (g.out_channels / 4 + 15) / 16 * 16) : g.out_channels;
  int64_t parts = pieces_of(g.out_channels, piece);
  auto plan = [&](int64_t part) {
    return plan_for(
        {ConvDirection::kWeight, false, g.images, std::min(piece, g.out_channels - part * piece), g});
  };
  std::shared_ptr<const Plan> whole = plan(0), rest = plan(parts - 1);
  if (!whole || !rest) return false;
  device::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    for (int64_t part = first; part < last; part++) {
      const Plan& p = part == parts - 1 ? *rest : *whole;
      Inner from_x(p.x, x), from_y(p.y, y + part * piece * g.out_positions());
      Inner result(p.w, w + part * piece * (g.in_channels / g.groups) * g.taps());
      Scratch space(p.workspace.get_size());
      from_x.load();
      from_y.load();
      run(p, ConvDirection::kWeight, from_x, result, nullptr, from_y, space);
      result.store();
    }
  });
  return true;
}

void add_to(float* sum, const float* other, int64_t count) {
  for (int64_t i = 0; i < count; i++) sum[i] += other[i];
}

// Gradients of small weights: runs of chunks of images, each summed into a partial of its own, and these in
// order.
bool run_weight_chunks(const ConvGeometry& g, float* x, float* w, float* y) {
  int64_t image_bytes = 4 * (g.in_channels * g.in_positions() + g.out_channels * g.out_positions());
  int64_t worth = std::max(kChunkBytes, 16 * g.weight_count());
  int64_t images =
      std::clamp<int64_t>(worth / std::max<int64_t>(1, image_bytes), 1, std::max<int64_t>(1, g.images / 4));
  int64_t chunks = pieces_of(g.images, images), partials = std::min<int64_t>(chunks, kMostPartials);
  auto plan = [&](int64_t chunk) {
    return plan_for(
        {ConvDirection::kWeight, false, std::min(images, g.images - chunk * images), g.out_channels, g});
  };
  std::shared_ptr<const Plan> whole = plan(0), rest = plan(chunks - 1);
  if (!whole || !rest) return false;
  int64_t count = g.weight_count();
  Scratch memory_of_partials(static_cast<size_t>(partials * count) * sizeof(float));
  float* sums = memory_of_partials.as<float>();
  device::parallel_for(0, partials, 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    Scratch fresh(static_cast<size_t>(count) * sizeof(float));
    for (int64_t i = first; i < last; i++) {
      for (int64_t chunk = chunks * i / partials; chunk < chunks * (i + 1) / partials; chunk++) {
        const Plan& p = chunk == chunks - 1 ? *rest : *whole;
        bool begins = chunk == chunks * i / partials;
        Inner from_x(p.x, x + chunk * images * g.in_channels * g.in_positions());
        Inner from_y(p.y, y + chunk * images * g.out_channels * g.out_positions());
        Inner result(p.w, begins ? sums + i * count : fresh.as<float>());
        Scratch space(p.workspace.get_size());
        from_x.load();
        from_y.load();
        run(p, ConvDirection::kWeight, from_x, result, nullptr, from_y, space);
        result.store();
        if (!begins) add_to(sums + i * count, fresh.as<float>(), count);
      }
    }
  });
  std::copy_n(sums, count, w);
  for (int64_t i = 1; i < partials; i++) add_to(w, sums + i * count, count);
  return true;
}

}  // namespace

bool onednn_convolution(ConvDirection direction, const ConvGeometry& g, float* x, float* w, const float* bias,
                        float* y) {
  try {
    if (direction != ConvDirection::kWeight) return run_pieces(direction, g, x, w, bias, y);
    bool large = g.weight_count() * 4 > kLargeWeight && g.groups == 1;
    return large ? run_weight_parts(g, x, w, y) : run_weight_chunks(g, x, w, y);
  } catch (const dnnl::error& e) {
    TW_FAIL(kInternal, "convolution: oneDNN says ", e.what());
  }
}

}  // namespace tw::ops
