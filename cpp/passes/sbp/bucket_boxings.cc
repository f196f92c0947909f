// Sums of many small tensors are reduced in one call: what a call costs beside its bytes is paid once.
//
//   %2 = mm(...) : float32[2, 3] @cpu[0, 1] P(sum)
//   %3 = boxing(%2) : float32[2, 3] @cpu[0, 1] B
//   %4 = sum(...) : float32[4] @cpu[0, 1] P(sum)
//   %5 = boxing(%4) : float32[4] @cpu[0, 1] B
//   return %3, %5
// →
//   %2 = mm(...) : float32[2, 3] @cpu[0, 1] P(sum)
//   %3 = sum(...) : float32[4] @cpu[0, 1] P(sum)
//   %4 = reshape(%2, shape=[6]) : float32[6] @cpu[0, 1] P(sum)
//   %5 = cat([%4, %3]) : float32[10] @cpu[0, 1] P(sum)
//   %6 = boxing(%5) : float32[10] @cpu[0, 1] B
//   %7 = slice(%6, dim=0, start=0, end=6) : float32[6] @cpu[0, 1] B
//   %8 = reshape(%7, shape=[2, 3]) : float32[2, 3] @cpu[0, 1] B
//   %9 = slice(%6, dim=0, start=6, end=10) : float32[4] @cpu[0, 1] B
//   return %8, %9
//
// Stages: (1) find the all-reduces of small tensors, and for each the node that makes its input and the first
// that reads its output; (2) put them into buckets in the order in which their inputs are there, those of one
// layout and dtype together: a bucket is full when it has so many bytes, or when somebody reads one of its
// results before the next input is there; (3) write each bucket behind the node that makes the last of its
// inputs. Sums are of the same numbers in the same order; slices and reshapes are views, and cost nothing.
#include <algorithm>
#include <map>
#include <set>

#include "ir/layouts.h"
#include "ops/movement/cat.h"
#include "ops/view/reshape.h"
#include "ops/view/slice.h"
#include "passes/sbp/layouts.h"

namespace tw::passes {

namespace {

using ir::GraphRef;
using ir::Node;
using ir::Value;

// A tensor that takes much longer than a call does not gain by company; a bucket is copied once, so it stays
// small enough for the cache.
constexpr int64_t kSmallBytes = 256 << 10, kBucketBytes = 1 << 20;

struct Reduction {
  Node* boxing;
  int ready;      // the node that makes its input; -1: it is a leaf
  int first_use;  // the first node that reads its output; behind the last where none does
  int64_t bytes;
};

struct Bucket {
  std::vector<Reduction> members;
  int ready = -1, first_use = 0;
  int64_t bytes = 0;

  bool takes(const Reduction& one) const {
    return bytes + one.bytes <= kBucketBytes &&
           std::max(ready, one.ready) < std::min(first_use, one.first_use);
  }
  void add(const Reduction& one) {
    first_use = members.empty() ? one.first_use : std::min(first_use, one.first_use);
    ready = std::max(ready, one.ready);
    bytes += one.bytes;
    members.push_back(one);
  }
};

bool is_all_reduce(const Node& node) {
  if (!ir::is_boxing(*node.def)) return false;
  const sbp::LayoutRef &from = ir::graph_value(node.inputs[0]).layout, &to = node.outputs[0]->layout;
  if (!from || !to || from->placement != to->placement || !from->has_partial()) return false;
  for (size_t axis = 0; axis < from->sbp.size(); axis++) {
    const sbp::Sbp &before = from->sbp[axis], &after = to->sbp[axis];
    bool sums = before.kind == sbp::Kind::kPartial && before.reduce == sbp::ReduceOp::kSum;
    if (after.kind != sbp::Kind::kBroadcast || !(sums || before.kind == sbp::Kind::kBroadcast)) return false;
  }
  return true;
}

class Bucketer {
 public:
  explicit Bucketer(ir::Graph& graph) : graph_(graph), by_(graph.number()) {}

  void run() {
    fill_buckets(find_reductions());
    if (buckets_.empty()) return;
    std::vector<std::unique_ptr<Node>> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    write_buckets(-1);
    for (size_t i = 0; i < old.size(); i++) {
      std::ranges::for_each(old[i]->inputs, [&](Value& input) { update(input); });
      if (!written_.contains(old[i].get())) graph_.nodes.push_back(std::move(old[i]));
      write_buckets(static_cast<int>(i));
    }
    std::ranges::for_each(graph_.outputs, [&](Value& output) { update(output); });
    for (ir::Assignment& one : graph_.assignments) update(one.value);
  }

 private:
  void update(Value& value) {
    if (value && static_cast<size_t>(ir::graph_value(value).id) < by_.size() &&
        by_[ir::graph_value(value).id])
      value = by_[ir::graph_value(value).id];
  }

  std::vector<Reduction> find_reductions() const {
    std::vector<int> made(by_.size(), -1), used(by_.size(), static_cast<int>(graph_.nodes.size()));
    for (int i = static_cast<int>(graph_.nodes.size()); i-- > 0;) {
      for (const Value& input : graph_.nodes[i]->inputs)
        if (input) used[ir::graph_value(input).id] = i;
      for (const GraphRef& output : graph_.nodes[i]->outputs) made[output->id] = i;
    }
    std::vector<Reduction> found;
    for (const auto& node : graph_.nodes) {
      if (!is_all_reduce(*node)) continue;
      const ir::GraphValue& value = *node->outputs[0];
      int64_t bytes = value.count() * size_of(value.dtype);
      if (bytes > 0 && bytes <= kSmallBytes)
        found.push_back({node.get(), made[ir::graph_value(node->inputs[0]).id], used[value.id], bytes});
    }
    std::ranges::stable_sort(found, {}, &Reduction::ready);
    return found;
  }

  void fill_buckets(const std::vector<Reduction>& reductions) {
    using Kind = std::tuple<const sbp::Layout*, const sbp::Layout*, DType>;
    std::map<Kind, Bucket> open;
    for (const Reduction& one : reductions) {
      const ir::GraphValue& output = *one.boxing->outputs[0];
      Bucket& bucket =
          open[{ir::graph_value(one.boxing->inputs[0]).layout.get(), output.layout.get(), output.dtype}];
      if (!bucket.members.empty() && !bucket.takes(one)) close(bucket);
      bucket.add(one);
    }
    for (auto& [kind, bucket] : open) close(bucket);
    std::ranges::stable_sort(buckets_, {}, &Bucket::ready);
  }
  void close(Bucket& bucket) {
    if (bucket.members.size() > 1) {
      for (const Reduction& one : bucket.members) written_.insert(one.boxing);
      buckets_.push_back(bucket);
    }
    bucket = {};
  }

  // Those that have all their inputs once node `at` has run.
  void write_buckets(int at) {
    for (; next_ < buckets_.size() && buckets_[next_].ready == at; next_++) write(buckets_[next_]);
  }

  void write(const Bucket& bucket) {
    ir::PlaceOf place(graph_, *bucket.members.back().boxing);
    std::vector<Value> rows;
    for (const Reduction& one : bucket.members)
      rows.push_back(shaped(one.boxing->inputs[0], {one.boxing->outputs[0]->count()}));
    static const ir::OpDef &cat = ir::registry().get("cat"), &boxing = ir::registry().get("boxing");
    const int starts[] = {0, static_cast<int>(rows.size())};
    ops::CatAttrs along{0};
    Value joined = laid_out(graph_.append(cat, rows, starts, &along), ir::graph_value(rows[0]).layout);
    const sbp::LayoutRef to = bucket.members[0].boxing->outputs[0]->layout;
    Value reduced = laid_out(graph_.append(boxing, {&joined, 1}, {}, boxing.defaults()), to);
    int64_t begin = 0;
    for (const Reduction& one : bucket.members) {
      const ir::GraphValue& output = *one.boxing->outputs[0];
      static const ir::OpDef& slice = ir::registry().get("slice");
      ops::SliceAttrs part{0, begin, begin + output.count(), 1};
      begin = part.end;
      Value row = laid_out(graph_.append(slice, {&reduced, 1}, {}, &part), to);
      by_[output.id] = shaped(row, output.sizes);
    }
  }

  Value shaped(const Value& value, const Dims& sizes) {
    if (value->sizes == sizes) return value;
    static const ir::OpDef& reshape = ir::registry().get("reshape");
    ops::ShapeAttrs attrs;
    attrs.shape.append(sizes.begin(), sizes.end());
    return laid_out(graph_.append(reshape, {&value, 1}, {}, &attrs), ir::graph_value(value).layout);
  }
  static Value laid_out(Node& node, const sbp::LayoutRef& layout) {
    node.outputs[0]->layout = layout;
    return node.outputs[0];
  }

  ir::Graph& graph_;
  std::vector<Value> by_;  // by the number of the value: what stands for it; null: itself
  std::vector<Bucket> buckets_;
  std::set<const Node*> written_;  // boxings that are in one
  size_t next_ = 0;
};

}  // namespace

void bucket_boxings(ir::Graph& graph) { Bucketer(graph).run(); }

}  // namespace tw::passes
