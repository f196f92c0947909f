#include "ops/onednn_convolution_cpu.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "device/cpu/parallel.h"
#include "device/cpu/scratch.h"
#include "ops/winograd_cpu.h"

namespace tw::ops {

using device::Scratch;
using dnnl::memory;

namespace {

// Of x and y together: what a second-level cache holds, beside buffers where they are reordered.
constexpr int64_t chunk_bytes(const ConvGeometry& g) { return g.channels_last ? 1 << 20 : 768 << 10; }
constexpr int64_t kLargeWeight = 1 << 20;  // bytes beyond which weight gradients are not kept one a chunk
constexpr int kMostPartials = 8;

// A tensor in the layout that the primitive wants: the caller's memory or a buffer.
class Inner {
 public:
  Inner(const ConvSide& side, float* outer) : side_(side), outer_(side.outer, onednn_engine(), outer) {
    if (side.same) {
      inner_ = outer_;
    } else {
      buffer_ = Scratch(side.inner.get_size());
      inner_ = memory(side.inner, onednn_engine(), buffer_.get());
    }
  }
  void load() {
    if (!side_.same) side_.to_inner.execute(onednn_stream(), outer_, inner_);
  }
  void store() {
    if (!side_.same) side_.to_outer.execute(onednn_stream(), inner_, outer_);
  }
  memory& get() { return inner_; }

 private:
  const ConvSide& side_;
  Scratch buffer_;
  memory outer_, inner_;
};

// Where image n begins with channel c, of x and of y.
int64_t x_offset(const ConvGeometry& g, int64_t n, int64_t c) {
  return n * g.in_channels * g.in_positions() + (g.channels_last ? c : c * g.in_positions());
}
int64_t y_offset(const ConvGeometry& g, int64_t n, int64_t c) {
  return n * g.out_channels * g.out_positions() + (g.channels_last ? c : c * g.out_positions());
}
// Where the weights of output channel o and input channel i begin.
int64_t w_offset(const ConvGeometry& g, int64_t o, int64_t i) {
  return o * (g.in_channels / g.groups) * g.taps() + (g.weight_last ? i : i * g.taps());
}

struct Cuts {
  int64_t images;    // in a chunk
  int64_t channels;  // in a piece of the split channels
  bool blocked;      // on oneDNN's own layouts
};

// Chunks of images, at least four of them where there are four; with fewer, the channels are cut too.
Cuts cuts_of(ConvDirection direction, const ConvGeometry& g) {
  int64_t image_bytes = 4 * (g.in_channels * g.in_positions() + g.out_channels * g.out_positions());
  int64_t split = splits_output(direction) ? g.out_channels : g.in_channels;
  // Weights larger than all images are read once: parts of the channels, each over all images.
  if (g.groups == 1 && split >= 128 && 4 * g.weight_count() > image_bytes * g.images)
    return {g.images, std::max<int64_t>(64, (split / 8 + 15) / 16 * 16), true};
  int64_t images = std::clamp<int64_t>(chunk_bytes(g) / std::max<int64_t>(1, image_bytes), 1,
                                       std::max<int64_t>(1, g.images / 4));
  int64_t chunks = (g.images + images - 1) / images;
  bool cut = chunks < 4 && g.groups == 1 && split >= 128;
  return {images, cut ? std::max<int64_t>(64, (split / 4 + 15) / 16 * 16) : split, !g.channels_last};
}

void run(const ConvPlan& plan, ConvDirection direction, Inner& x, Inner& w, const float* bias, Inner& y,
         Scratch& space) {
  std::unordered_map<int, memory> args;
  bool forward = direction == ConvDirection::kForward;
  args.emplace(direction == ConvDirection::kInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x.get());
  args.emplace(direction == ConvDirection::kWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, w.get());
  args.emplace(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y.get());
  if (forward && bias)
    args.emplace(DNNL_ARG_BIAS, memory(plan.bias, onednn_engine(), const_cast<float*>(bias)));
  if (plan.workspace.get_size())
    args.emplace(DNNL_ARG_SCRATCHPAD, memory(plan.workspace, onednn_engine(), space.get()));
  plan.primitive.execute(onednn_stream(), args);
}

int64_t pieces_of(int64_t total, int64_t piece) { return (total + piece - 1) / piece; }

// A piece of the result, that of some images and channels, right after it was written.
void finish(const ConvEpilogue& then, const ConvGeometry& g, float* y, int64_t image, int64_t images,
            int64_t channel, int64_t channels) {
  int64_t positions = g.out_positions();
  float* at = y + y_offset(g, image, channel);
  if (g.channels_last) return then.on_pixels(at, images * positions, g.out_channels, channel, channels);
  for (int64_t i = 0; i < images; i++, at += g.out_channels * positions)
    then.on_planes(at, positions, channel, channels);
}

// Every piece writes its own images and channels. The weight is reordered once for each cut of the channels.
bool run_pieces(ConvDirection direction, const ConvGeometry& g, float* x, float* w, const float* bias,
                float* y, const ConvEpilogue* then) {
  Cuts cuts = cuts_of(direction, g);
  bool forward = direction == ConvDirection::kForward;
  int64_t split = forward ? g.out_channels : g.in_channels;
  int64_t chunks = pieces_of(g.images, cuts.images), parts = pieces_of(split, cuts.channels);
  auto key = [&](int64_t chunk, int64_t part) {
    return ConvPlanKey{direction,
                       bias != nullptr,
                       cuts.blocked,
                       std::min(cuts.images, g.images - chunk * cuts.images),
                       std::min(cuts.channels, split - part * cuts.channels),
                       g};
  };
  std::vector<std::shared_ptr<const ConvPlan>> plans;  // of whole chunks and of the last one, for each part
  for (int64_t part = 0; part < parts; part++)
    for (int64_t chunk : {int64_t{0}, chunks - 1}) {
      plans.push_back(conv_plan_for(key(chunk, part)));
      if (!plans.back()) return false;
    }
  std::vector<std::unique_ptr<Inner>> weights;  // a last chunk of another size may want another layout
  for (size_t i = 0; i < plans.size(); i++) {
    bool again = i % 2 == 1 && plans[i]->w.inner == plans[i - 1]->w.inner;
    int64_t c = static_cast<int64_t>(i / 2) * cuts.channels;
    float* piece = w + (forward ? w_offset(g, c, 0) : w_offset(g, 0, c));
    weights.push_back(again ? nullptr : std::make_unique<Inner>(plans[i]->w, piece));
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
      const ConvPlan& plan = *plans[which];
      Inner& weight = weights[which] ? *weights[which] : *weights[which - 1];
      Inner from_x(plan.x, x + x_offset(g, n, forward ? 0 : c));
      Inner from_y(plan.y, y + y_offset(g, n, forward ? c : 0));
      Scratch space(plan.workspace_bytes);
      (forward ? from_x : from_y).load();
      run(plan, direction, from_x, weight, bias ? bias + c : nullptr, from_y, space);
      (forward ? from_y : from_x).store();
      if (then) finish(*then, g, y, n, plan.y.outer.get_dims()[0], c, plan.y.outer.get_dims()[1]);
    }
  });
  return true;
}

// Gradients of large weights: pieces are parts of the output channels, each over all images.
bool run_weight_parts(const ConvGeometry& g, float* x, float* w, float* y) {
  int64_t piece = g.groups == 1 ? std::max<int64_t>(16, (g.out_channels / 4 + 15) / 16 * 16) : g.out_channels;
  int64_t parts = pieces_of(g.out_channels, piece);
  auto plan = [&](int64_t part) {
    return conv_plan_for(
        {ConvDirection::kWeight, false, false, g.images, std::min(piece, g.out_channels - part * piece), g});
  };
  std::shared_ptr<const ConvPlan> whole = plan(0), rest = plan(parts - 1);
  if (!whole || !rest) return false;
  device::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    for (int64_t part = first; part < last; part++) {
      const ConvPlan& p = part == parts - 1 ? *rest : *whole;
      Inner from_x(p.x, x), from_y(p.y, y + y_offset(g, 0, part * piece));
      Inner result(p.w, w + w_offset(g, part * piece, 0));
      Scratch space(p.workspace_bytes);
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
  int64_t worth = std::max(chunk_bytes(g), 16 * g.weight_count());
  int64_t images =
      std::clamp<int64_t>(worth / std::max<int64_t>(1, image_bytes), 1, std::max<int64_t>(1, g.images / 4));
  int64_t chunks = pieces_of(g.images, images), partials = std::min<int64_t>(chunks, kMostPartials);
  auto plan = [&](int64_t chunk) {
    return conv_plan_for({ConvDirection::kWeight, false, false, std::min(images, g.images - chunk * images),
                          g.out_channels, g});
  };
  std::shared_ptr<const ConvPlan> whole = plan(0), rest = plan(chunks - 1);
  if (!whole || !rest) return false;
  int64_t count = g.weight_count();
  Scratch memory_of_partials(static_cast<size_t>(partials * count) * sizeof(float));
  float* sums = memory_of_partials.as<float>();
  device::parallel_for(0, partials, 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    Scratch fresh(static_cast<size_t>(count) * sizeof(float));
    for (int64_t i = first; i < last; i++) {
      for (int64_t chunk = chunks * i / partials; chunk < chunks * (i + 1) / partials; chunk++) {
        const ConvPlan& p = chunk == chunks - 1 ? *rest : *whole;
        bool begins = chunk == chunks * i / partials;
        Inner from_x(p.x, x + x_offset(g, chunk * images, 0));
        Inner from_y(p.y, y + y_offset(g, chunk * images, 0));
        Inner result(p.w, begins ? sums + i * count : fresh.as<float>());
        Scratch space(p.workspace_bytes);
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
                        float* y, const ConvEpilogue* then) {
  float* result = direction == ConvDirection::kForward ? y : direction == ConvDirection::kInput ? x : w;
  if (winograd_convolution(direction, g, x, w, bias, y, result, then)) return true;
  try {
    if (direction != ConvDirection::kWeight) return run_pieces(direction, g, x, w, bias, y, then);
    bool large = g.weight_count() * 4 > kLargeWeight && g.groups == 1;
    return large ? run_weight_parts(g, x, w, y) : run_weight_chunks(g, x, w, y);
  } catch (const dnnl::error& e) {
    TW_FAIL(kInternal, "convolution: oneDNN says ", e.what());
  }
}

}  // namespace tw::ops
