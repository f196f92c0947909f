// Stages: (1) the body becomes steps over numbered values; (2) at the first run, which tells how operands
// lie, values that stay inside get strides and offsets in a thread's scratch memory; (3) a run cuts the rows
// into units, which threads share, and these into tiles; (4) sums over rows are combined at the end. Where
// rows turn out not to lie one after the other, all of them are one tile, and kernels run as outside of a
// body.
#include "session/row_program.h"

#include <mutex>
#include <variant>

#include "base/memory_order.h"
#include "device/cpu/fetch_ahead.h"
#include "device/cpu/parallel.h"
#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "ir/result_order.h"
#include "ops/fused/by_rows.h"
#include "passes/pointwise.h"
#include "session/row_sums.h"

namespace tw::session {

namespace {

using device::KernelContext;
using device::Operand;

constexpr int64_t kTileBytes = 256 << 10;   // of all values that a tile of rows touches
constexpr int64_t kGrainBytes = 192 << 10;  // worth a thread
constexpr int64_t kSlice = 8;               // rows that layer_norm_backward sums by themselves
constexpr int64_t kAlignment = 64;
constexpr int64_t kMostLines = 16;  // that are fetched between two pieces of work

struct RowValue {
  enum Kind { kInput, kOutput, kScratch, kSum } kind = kScratch;
  int index = -1;  // of the input or output; of the sum
  DType dtype;
  Dims sizes;
  bool rows = false;  // dim 0 counts rows
  int last = -1;      // the last step that reads it
  // Once prepared:
  Dims strides;
  int64_t offset = 0;  // in scratch memory
  int64_t element() const { return size_of(dtype); }
};

struct RowStep {
  RowStep(const ir::Node& node) : def(node.def), attrs(node.def->attr_type, node.attrs.get()) {}
  const ir::OpDef* def;
  ir::AttrBox attrs;
  device::Kernel kernel = nullptr;
  std::vector<int> inputs, outputs;  // values; -1 for absent inputs
  bool sums = false;                 // its own loop, no kernel
  bool sliced = false;               // a sum for each kSlice rows
};

struct Sum {
  int value;
  bool norm;
  int output = -1;  // of the op; -1 where nobody reads it
};

using AnySum = std::variant<RowSum<float>, RowSum<double>>;

class RowKernel final : public runtime::LaunchKernel {
 public:
  explicit RowKernel(const std::string& body_text) {
    std::unique_ptr<ir::Graph> body = ir::parse_graph(body_text);
    int count = body->number();
    values_.resize(count);
    for (size_t i = 0; i < body->inputs.size(); i++)
      define(*body->inputs[i].value, RowValue::kInput, static_cast<int>(i));
    for (auto& node : body->nodes)
      for (const ir::GraphRef& output : node->outputs) define(*output, RowValue::kScratch, -1);
    for (size_t i = 0; i < body->outputs.size(); i++)
      define(ir::graph_value(body->outputs[i]), RowValue::kOutput, static_cast<int>(i));
    find_rows(*body);
    for (auto& node : body->nodes) add_step(*node);
    kernel = [](KernelContext& k) { static_cast<RowKernel*>(const_cast<void*>(k.attributes))->run(k); };
    attributes = this;
  }

  void write_number(const plan::Lifted&, const Scalar&) override {
    TW_FAIL(kInternal, "by_rows: it takes no numbers");
  }

 private:
  void define(const ir::GraphValue& value, RowValue::Kind kind, int index) {
    RowValue& v = values_[value.id];
    v.kind = kind;
    v.index = index;
    v.dtype = value.dtype;
    v.sizes = value.sizes;
  }

  // Values of the highest rank whose first dim is the largest.
  void find_rows(const ir::Graph& body) {
    size_t rank = 0;
    for (const RowValue& v : values_) rank = std::max(rank, v.sizes.size());
    for (const RowValue& v : values_)
      if (v.sizes.size() == rank) rows_ = std::max(rows_, v.sizes[0]);
    for (RowValue& v : values_) v.rows = v.sizes.size() == rank && v.sizes[0] == rows_;
    folded_ = rank <= 2;
    TW_CHECK(rank >= 2 && !body.nodes.empty(), kInternal, "by_rows: a body with rows is wanted");
  }

  void add_step(const ir::Node& node) {
    steps_.push_back(std::make_unique<RowStep>(node));
    RowStep& step = *steps_.back();
    step.kernel = eager::kernel_of(*node.def);
    TW_CHECK(step.kernel, kInternal, node.def->name(), ": the op has no kernel");
    for (const ir::Value& input : node.inputs) {
      step.inputs.push_back(input ? ir::graph_value(input).id : -1);
      if (input) values_[step.inputs.back()].last = static_cast<int>(steps_.size()) - 1;
    }
    step.sums = node.def->schema.name == "sum";
    for (const ir::GraphRef& output : node.outputs) {
      step.outputs.push_back(output->id);
      RowValue& v = values_[output->id];
      bool norm = node.def->schema.name == "layer_norm_backward" && output->output > 0 && output->count() > 0;
      if (!step.sums && !norm) continue;
      step.sliced |= norm;
      sums_.push_back({output->id, norm, v.kind == RowValue::kOutput ? v.index : -1});
      v.kind = RowValue::kSum;
      v.index = static_cast<int>(sums_.size()) - 1;
    }
  }

  // ---- once operands are known

  void prepare(const KernelContext& k) {
    int64_t row_bytes = 0;
    for (RowValue& v : values_) {
      if (v.kind == RowValue::kInput) v.strides = *k.in(v.index).strides;
      if (v.kind == RowValue::kOutput) v.strides = *k.out(v.index).strides;
      if (v.kind == RowValue::kSum) v.strides = contiguous_strides(v.sizes);
      if (v.rows) row_bytes += numel(v.sizes) / rows_ * v.element();
    }
    row_bytes = std::max<int64_t>(1, row_bytes);
    int64_t fewest = folded_ ? kSlice : 1;
    tile_ = std::max(fewest, kTileBytes / row_bytes / fewest * fewest);
    // Blocks of sums are whole multiples of one another, and each is summed by one thread.
    unit_ = sums_.empty() ? tile_ : 1;
    for (const Sum& sum : sums_) unit_ = std::max(unit_, order_of(sum).block);
    grain_ = std::max<int64_t>(1, kGrainBytes / (unit_ * row_bytes));
    find_fetched();
    place_scratch();
    if (!folded_ || lie_by_rows()) return;
    whole_ = true;
    tile_ = unit_ = rows_;
    scratch_bytes_ = 0;
    place_scratch();
  }

  bool lie_by_rows() const {
    return std::all_of(values_.begin(), values_.end(), [](const RowValue& v) {
      return !v.rows || v.sizes[1] == 1 || v.strides[1] == 1 ||
             (v.kind == RowValue::kInput && v.strides[1] == 0);
    });
  }

  // Rows of inputs and outputs that lie one after the other; they are fetched while pointwise steps compute.
  void find_fetched() {
    int64_t pieces = 0;
    for (const auto& step : steps_)
      if (passes::is_pointwise(*step->def)) pieces += numel(values_[step->outputs[0]].sizes) / rows_ * tile_;
    pieces = std::max<int64_t>(1, pieces / device::FetchAhead::kPiece);
    int64_t bytes = 0;
    for (size_t v = 0; v < values_.size(); v++) {
      const RowValue& value = values_[v];
      bool outside = value.kind == RowValue::kInput || value.kind == RowValue::kOutput;
      if (!outside || !value.rows || !is_contiguous(value.sizes, value.strides)) continue;
      fetched_.push_back(static_cast<int>(v));
      bytes += tile_ * value.strides[0] * value.element();
    }
    fetched_lines_ = std::min<int64_t>(kMostLines, (bytes / 64 + pieces - 1) / pieces);
  }

  RowSumOrder order_of(const Sum& sum) const {
    int64_t columns = numel(values_[sum.value].sizes);
    return sum.norm ? RowSumOrder::of_norm(rows_, columns) : RowSumOrder::of_sum(rows_, columns);
  }

  // Strides as the planner would choose them; memory is taken over from values that no later step reads.
  void place_scratch() {
    struct Free {
      int64_t offset, bytes;
    };
    std::vector<Free> free;
    for (int s = 0; s < static_cast<int>(steps_.size()); s++) {
      const RowStep& step = *steps_[s];
      SmallVector<Window, 6> windows;
      for (int input : step.inputs)
        windows.push_back(input < 0 ? Window{nullptr, nullptr}
                                    : Window{&values_[input].sizes, &values_[input].strides});
      for (int output : step.outputs) {
        RowValue& v = values_[output];
        if (v.kind != RowValue::kScratch && v.kind != RowValue::kSum) continue;
        if (v.kind == RowValue::kScratch)
          v.strides = ir::result_strides(*step.def, {windows.data(), windows.size()},
                                         values_[step.outputs[0]].sizes, v.sizes);
        int64_t bytes = (v.rows ? numel(v.sizes) / rows_ * tile_ : numel(v.sizes)) * v.element();
        bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        auto fit =
            std::find_if(free.begin(), free.end(), [&](const Free& one) { return one.bytes == bytes; });
        if (fit != free.end()) {
          v.offset = fit->offset;
          free.erase(fit);
        } else {
          v.offset = scratch_bytes_;
          scratch_bytes_ += bytes;
        }
      }
      for (const RowValue& v : values_) {
        if (v.kind != RowValue::kScratch || v.last != s || !v.rows) continue;
        int64_t bytes = numel(v.sizes) / rows_ * tile_ * v.element();
        free.push_back({v.offset, (bytes + kAlignment - 1) / kAlignment * kAlignment});
      }
    }
  }

  // ---- a run

  // A thread's operands of a step, for the rows it is at.
  struct Bound {
    std::vector<Operand> inputs, outputs;
    std::vector<Dims> sizes;  // of inputs, then of outputs
  };

  struct Thread {
    device::Scratch memory;
    std::vector<char*> data;  // of each value, where the tile begins
    std::vector<Bound> bound;
  };

  void run(KernelContext& k) {
    std::call_once(prepared_, [&] { prepare(k); });
    std::vector<AnySum> sums;
    for (const Sum& sum : sums_) {
      if (whole_) break;
      if (values_[sum.value].dtype == DType::kFloat32)
        sums.emplace_back(std::in_place_type<RowSum<float>>, order_of(sum));
      else
        sums.emplace_back(std::in_place_type<RowSum<double>>, order_of(sum));
    }
    device::parallel_for(0, (rows_ + unit_ - 1) / unit_, grain_, [&](int64_t first, int64_t last) {
      Thread thread = bind(k);
      Fetching fetching;
      int64_t end = std::min(rows_, last * unit_);
      for (int64_t row = first * unit_; row < end;) {
        int64_t unit_end = std::min(end, (row / unit_ + 1) * unit_);
        int64_t count = std::min(tile_, unit_end - row);
        fetch(&fetching.ahead, thread, row + count, std::min(tile_, end - row - count));
        run_tile(k, thread, row, count, sums);
        row += count;
      }
    });
    for (size_t i = 0; i < sums.size(); i++)
      if (sums_[i].output >= 0)
        std::visit([&]<class T>(RowSum<T>& sum) { sum.finish(k.out(sums_[i].output).as<T>()); }, sums[i]);
  }

  struct Fetching {
    Fetching() { device::FetchAhead::set_current(&ahead); }
    ~Fetching() { device::FetchAhead::set_current(nullptr); }
    Fetching(const Fetching&) = delete;
    Fetching& operator=(const Fetching&) = delete;
    device::FetchAhead ahead;
  };

  void fetch(device::FetchAhead* ahead, const Thread& thread, int64_t row, int64_t count) const {
    ahead->clear();
    ahead->set_lines(fetched_lines_);
    if (count <= 0) return;
    for (int v : fetched_) {
      const RowValue& value = values_[v];
      ahead->add(data_at(thread, v, row, 0), count * value.strides[0] * value.element());
    }
  }

  Thread bind(const KernelContext& k) const {
    Thread thread{device::Scratch(static_cast<size_t>(std::max(scratch_bytes_, kAlignment))),
                  std::vector<char*>(values_.size()),
                  {}};
    for (const auto& step : steps_) {
      Bound bound;
      bound.sizes.reserve(step->inputs.size() + step->outputs.size());
      auto add = [&](int value, std::vector<Operand>* to) {
        bound.sizes.push_back(value < 0 ? Dims() : values_[value].sizes);
        to->push_back(
            value < 0 ? Operand()
                      : Operand{nullptr, &bound.sizes.back(), &values_[value].strides, values_[value].dtype});
      };
      for (int value : step->inputs) add(value, &bound.inputs);
      for (int value : step->outputs) add(value, &bound.outputs);
      thread.bound.push_back(std::move(bound));
    }
    for (size_t v = 0; v < values_.size(); v++) {
      const RowValue& value = values_[v];
      thread.data[v] = value.kind == RowValue::kInput    ? k.in(value.index).template as<char>()
                       : value.kind == RowValue::kOutput ? k.out(value.index).template as<char>()
                                                         : thread.memory.as<char>() + value.offset;
      if (whole_ && value.kind == RowValue::kSum && sums_[value.index].output >= 0)
        thread.data[v] = k.out(sums_[value.index].output).template as<char>();
    }
    return thread;
  }

  char* data_at(const Thread& thread, int value, int64_t row, int64_t tile_row) const {
    const RowValue& v = values_[value];
    if (!v.rows) return thread.data[value];
    bool outside = v.kind == RowValue::kInput || v.kind == RowValue::kOutput;
    return thread.data[value] + (outside ? row + tile_row : tile_row) * v.strides[0] * v.element();
  }

  void run_tile(const KernelContext& k, Thread& thread, int64_t row, int64_t count,
                std::vector<AnySum>& sums) const {
    for (size_t s = 0; s < steps_.size(); s++) {
      const RowStep& step = *steps_[s];
      if (whole_) {
        run_step(k, thread, s, row, 0, count, sums);
        continue;
      }
      if (step.sums) {
        add_rows(thread, step, row, count, sums);
        continue;
      }
      int64_t piece = step.sliced ? kSlice : count;
      for (int64_t first = 0; first < count; first += piece)
        run_step(k, thread, s, row, first, std::min(piece, count - first), sums);
    }
  }

  void run_step(const KernelContext& k, Thread& thread, size_t s, int64_t row, int64_t first, int64_t count,
                std::vector<AnySum>& sums) const {
    const RowStep& step = *steps_[s];
    Bound& bound = thread.bound[s];
    size_t next = 0;
    auto point = [&](const std::vector<int>& values, std::vector<Operand>& operands) {
      for (size_t i = 0; i < values.size(); i++, next++) {
        if (values[i] < 0) continue;
        operands[i].data = data_at(thread, values[i], row, first);
        if (values_[values[i]].rows) bound.sizes[next][0] = count;
      }
    };
    point(step.inputs, bound.inputs);
    point(step.outputs, bound.outputs);
    KernelContext context{bound.inputs, bound.outputs,    step.attrs.get(),
                          {},           step.def->name(), k.allocate_output};
    step.kernel(context);
    if (!step.sliced || whole_) return;
    for (int output : step.outputs)
      if (values_[output].kind == RowValue::kSum)
        add(sums[values_[output].index], row + first, thread.data[output]);
  }

  static void add(AnySum& sum, int64_t row, const char* values) {
    std::visit([&]<class T>(RowSum<T>& one) { one.add(row, reinterpret_cast<const T*>(values)); }, sum);
  }

  void add_rows(const Thread& thread, const RowStep& step, int64_t row, int64_t count,
                std::vector<AnySum>& sums) const {
    AnySum& sum = sums[values_[step.outputs[0]].index];
    for (int64_t r = 0; r < count; r++) add(sum, row + r, data_at(thread, step.inputs[0], row, r));
  }

  std::vector<RowValue> values_;
  std::vector<std::unique_ptr<RowStep>> steps_;
  std::vector<Sum> sums_;
  int64_t rows_ = 0;
  bool folded_ = true;
  bool whole_ = false;  // no tiles
  std::vector<int> fetched_;
  int64_t fetched_lines_ = 0;
  std::once_flag prepared_;
  int64_t tile_ = 0, unit_ = 0, grain_ = 1, scratch_bytes_ = 0;
};

}  // namespace

std::unique_ptr<runtime::LaunchKernel> make_row_kernel(const ir::Node& node) {
  return std::make_unique<RowKernel>(static_cast<const ops::ByRowsAttrs*>(node.attrs.get())->body);
}

}  // namespace tw::session
