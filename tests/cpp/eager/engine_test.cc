#include "eager/engine.h"

#include <thread>

#include "eager/dispatch.h"
#include "eager/modes.h"
#include "eager/node.h"
#include "ir/emitter.h"
#include "test.h"

using namespace tw;
using namespace tw::eager;
using ir::op;
using ir::Value;

namespace {

Tensor leaf(double value, Dims sizes = {}) {
  initialize();
  Tensor t = as_tensor(op<"full">(sizes, value, DType::kFloat64));
  t->requires_grad = true;
  return t;
}

double first(const Tensor& t) { return *static_cast<double*>(t->data()); }

}  // namespace

TEST(gradients_of_shared_inputs_add_up) {
  Tensor x = leaf(3);
  Value y = Value(x) * Value(x) + Value(x);
  run_backward({as_tensor(y)}, {}, {}, {});
  CHECK_EQ(first(x->grad), 7.0);
}

TEST(higher_orders_come_from_recording_the_backward_pass) {
  Tensor x = leaf(2);
  Value y = Value(x) * Value(x) * Value(x);
  BackwardOptions record{true, true, false, false};
  Tensor first_order = run_backward({as_tensor(y)}, {}, {x}, record)[0];
  Tensor second_order = run_backward({first_order}, {}, {x}, record)[0];
  Tensor third_order = run_backward({second_order}, {}, {x}, {false, false, false, false})[0];
  CHECK_EQ(first(first_order), 12.0);
  CHECK_EQ(first(second_order), 12.0);
  CHECK_EQ(first(third_order), 6.0);
}

TEST(a_second_backward_needs_what_the_first_kept) {
  Tensor x = leaf(2);
  Value y = Value(x) * Value(x);
  run_backward({as_tensor(y)}, {}, {}, {true, false, false, true});
  run_backward({as_tensor(y)}, {}, {}, {});
  CHECK_EQ(first(x->grad), 8.0);
  CHECK_THROWS(Error, run_backward({as_tensor(y)}, {}, {}, {}), "retain_graph=True");
}

TEST(writing_to_a_view_rewrites_the_history_of_its_base) {
  Tensor x = leaf(2, {3});
  Value y = Value(x) * 1.0;
  Value window = op<"slice">(y, 0, 1, 3, 1);
  const ir::OpDef& mul = ir::registry().get("mul");
  const Value inputs[] = {window, number_operand(Scalar(5.0))};
  dispatch_inplace(mul, inputs, {}, nullptr);
  run_backward({as_tensor(op<"sum">(y))}, {}, {}, {});
  const double* grad = static_cast<double*>(x->grad->data());
  CHECK_EQ(grad[0], 1.0);
  CHECK_EQ(grad[2], 5.0);
}

TEST(changing_what_backward_needs_is_noticed) {
  Tensor x = leaf(2, {2});
  Value y = op<"mul">(Value(x), 3.0);
  Value z = y * y;
  const Value inputs[] = {y, number_operand(Scalar(1))};
  ir::AttrBox attrs(ir::registry().get("add").attr_type, ir::registry().get("add").defaults());
  dispatch_inplace(ir::registry().get("add"), inputs, {}, attrs.get());
  CHECK_THROWS(Error, run_backward({as_tensor(op<"sum">(z))}, {}, {}, {}),
               "changed by an in-place operation");
}

TEST(leaves_and_expanded_memory_are_not_written) {
  Tensor x = leaf(1, {2});
  const ir::OpDef& mul = ir::registry().get("mul");
  const Value on_leaf[] = {Value(x), number_operand(Scalar(2.0))};
  CHECK_THROWS(Error, dispatch_inplace(mul, on_leaf, {}, nullptr), "leaf");
  Value wide = op<"expand">(op<"full">(IntList{1}, 1.0), IntList{4});
  const Value on_expanded[] = {wide, number_operand(Scalar(2.0))};
  CHECK_THROWS(Error, dispatch_inplace(mul, on_expanded, {}, nullptr), "share one memory location");
}

TEST(long_tapes_are_freed_without_recursion) {
  Tensor x = leaf(1);
  Value y(x);
  for (int i = 0; i < 200000; i++) y = op<"add">(y, 1.0);
  y = nullptr;
  CHECK_EQ(x->use_count(), 1u);
}

TEST(threads_record_and_run_their_own_tapes) {
  initialize();
  std::vector<std::thread> threads;
  std::vector<double> grads(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([t, &grads] {
      Tensor x = leaf(t + 1);
      for (int i = 0; i < 50; i++) run_backward({as_tensor(Value(x) * Value(x))}, {}, {}, {});
      grads[t] = first(x->grad);
    });
  for (auto& thread : threads) thread.join();
  for (int t = 0; t < 4; t++) CHECK_EQ(grads[t], 50.0 * 2 * (t + 1));
}
