// How long it takes to choose the layouts of a training step: layers of linear and relu, forward, backward
// and update, on one axis and on two.
//
//   layouts [layers]...
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "eager/dispatch.h"
#include "ir/emitter.h"
#include "ir/graph.h"
#include "passes/sbp/layouts.h"

using namespace tw;

namespace {

ir::Value leaf(std::vector<ir::Leaf>& leaves, const char* name, const Dims& sizes,
               const sbp::LayoutRef& layout) {
  ir::GraphRef value = ir::make_graph_value(DType::kFloat32, sizes);
  value->layout = layout;
  leaves.push_back({name + std::to_string(leaves.size()), value});
  return value;
}

// Rows are split on the first axis, weights on the last one, in turn by rows and by columns.
std::unique_ptr<ir::Graph> training_step(int layers, const sbp::PlacementRef& placement) {
  constexpr int64_t kRows = 512, kWidth = 1024;
  auto graph = std::make_unique<ir::Graph>();
  ir::GraphEmitter emitter(*graph);
  ir::Emitter* before = ir::Emitter::swap_current(&emitter);
  bool mesh = placement->axes() > 1;
  sbp::NdSbp rows{sbp::split(0)};
  if (mesh) rows.push_back(sbp::broadcast());
  ir::Value x = leaf(graph->inputs, "x", {kRows, kWidth}, sbp::layout(placement, rows));
  ir::Values weights, inputs, results;
  for (int i = 0; i < layers; i++) {
    sbp::NdSbp sbp{sbp::broadcast()};
    if (mesh) sbp.push_back(sbp::split(i % 2));
    weights.push_back(leaf(graph->variables, "w", {kWidth, kWidth}, sbp::layout(placement, sbp)));
    inputs.push_back(x);
    x = ir::op<"relu">(ir::op<"linear">(x, weights.back(), nullptr));
    results.push_back(x);
  }
  ir::Value loss = ir::op<"mean">(x * x);
  ir::Value grad = x * (2.0 / static_cast<double>(kRows * kWidth));
  for (int i = layers; i-- > 0;) {
    grad = ir::op<"threshold_backward">(grad, results[i], 0.0);
    ir::Value update = ir::op<"matmul">(ir::op<"transpose">(grad, 0, 1), inputs[i]);
    graph->assignments.push_back({i, weights[i] - update * 0.1});
    if (i > 0) grad = ir::op<"matmul">(grad, weights[i]);
  }
  graph->outputs = {loss};
  ir::Emitter::swap_current(before);
  return graph;
}

void measure(int layers, const Dims& shape) {
  std::vector<int64_t> ranks(numel(shape));
  for (size_t i = 0; i < ranks.size(); i++) ranks[i] = static_cast<int64_t>(i);
  auto graph = training_step(layers, sbp::placement("cpu", shape, ranks));
  size_t nodes = graph->nodes.size();
  auto start = std::chrono::steady_clock::now();
  bool exact = passes::choose_layouts(*graph, {});
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  size_t boxings = graph->nodes.size() - nodes;
  std::printf("%6zu nodes, %zu axes: %7.3f s, %5.1f us a node, %zu boxings%s\n", nodes, shape.size(),
              took.count(), took.count() / static_cast<double>(nodes) * 1e6, boxings, exact ? ", exact" : "");
}

}  // namespace

int main(int count, char** arguments) {
  eager::initialize();
  std::vector<int> layers;
  for (int i = 1; i < count; i++) layers.push_back(std::atoi(arguments[i]));
  if (layers.empty()) layers = {12, 120, 1200};
  for (const Dims& shape : {Dims{2}, Dims{2, 2}})
    for (int one : layers) measure(one, shape);
  return 0;
}
