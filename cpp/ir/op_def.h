// One op: its schema and its rules. Every other list of ops (Python functions, stubs, reference, parser,
// dispatcher, tracer) is derived from these.
#pragma once

#include <string>
#include <vector>

#include "ir/grad.h"
#include "ir/infer.h"
#include "ir/schema.h"
#include "ir/view.h"
#include "sbp/sbp.h"

namespace tw::ir {

// What dispatch does to inputs of different dtypes before inference.
enum class Promotion : uint8_t {
  kNone,       // inputs are taken as they come
  kCommon,     // all tensor inputs are cast to their common dtype
  kFloat,      // the same, and integers and bools become the default float (sin, div)
  kLikeFirst,  // the others are cast to the dtype of the first (masked_fill)
};

// What autocast does to floating inputs while it is on.
enum class Autocast : uint8_t { kNone, kLow, kFloat32, kWidest };

// How results lie in memory. Kernels of ops that are not kRowMajor write outputs of any strides.
enum class ResultOrder : uint8_t {
  kRowMajor,
  kLikeInputs,    // pointwise: the dims follow one another as the inputs' do
  kChannelsLast,  // channels fastest where one of `order_params` lies so, else row-major
};

// How much work an op is, for planning: never less than the truth by more than a small factor.
struct Cost {
  double flops = 0;
  double bytes = 0;            // read and written
  double workspace_bytes = 0;  // upper bound
};
class CostContext {
 public:
  std::vector<Meta> inputs, outputs;
  const void* attributes = nullptr;
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes);
  }
  double bytes() const;         // of all inputs and outputs
  double output_count() const;  // elements of output 0
  double input_count() const;   // elements of input 0
};
using CostFn = Cost (*)(const CostContext&);
// `flops` floating-point operations for each element of the output (or of the input, for reductions).
template <int kFlops>
Cost pointwise_cost(const CostContext& c) {
  return {kFlops * c.output_count(), c.bytes(), 0};
}
template <int kFlops>
Cost reduction_cost(const CostContext& c) {
  return {kFlops * c.input_count(), c.bytes(), 0};
}
Cost copy_cost(const CostContext& c);  // no arithmetic
Cost free_cost(const CostContext& c);  // a view: nothing moves

// Where Python sees an op. A method needs its first tensor parameter as self.
enum Exposure : unsigned {
  kHidden = 0,        // gradients and composites only
  kFunction = 1,      // tw.name
  kMethod = 2,        // Tensor.name
  kNnFunctional = 4,  // tw.nn.functional.name
  kInplace = 8,       // also name_ as a method (and as a function wherever the op is one)
  kLinalg = 16,       // tw.linalg.name without the prefix linalg_
  kSpecial = 32,      // tw.special.name without the prefix special_
};

// One device's part of an op that is run in a signature. Attributes that speak of sizes or places come as
// those of the whole and are made those of the part; all others are the same on every device.
class ShardContext {
 public:
  std::vector<Dims> inputs, outputs;  // the part's sizes; inputs flattened over lists, empty for absent ones
  std::vector<Dims> whole_inputs, whole_outputs;
  std::vector<Dims> first_inputs, first_outputs;  // where the part begins in the whole
  void* attributes = nullptr;
  template <class A>
  A& attrs() const {
    return *static_cast<A*>(attributes);
  }
};
using LocalizeFn = void (*)(ShardContext&);

class ExpandContext;
using ExpandFn = Values (*)(const Values& inputs, const void* attrs);

// Which inputs and outputs the gradient needs, e.g. "input(other) other(input) result": `other` is kept only
// where `input` needs a gradient. Parsed against the schema when the op is registered.
struct Saved {
  struct Item {
    int index;    // of a tensor parameter or an output
    int only_if;  // tensor parameter that must need a gradient, or -1
    bool output;
  };
  std::vector<Item> items;
};

struct OpDef {
  int id = -1;
  Schema schema;
  std::string doc;
  std::string family;  // the folder, e.g. "activation"
  const StructType* attr_type = nullptr;
  std::vector<char> prototype;  // attributes with their defaults; constructed in place
  Promotion promotion = Promotion::kNone;
  unsigned number_params = ~1u;    // bit i: Python may give a number for tensor parameter i
  unsigned promoted_params = ~0u;  // bit i: tensor parameter i takes part in promotion
  Autocast autocast = Autocast::kNone;
  unsigned exposure = kHidden;
  int visible_outputs = 0;  // Python returns the first so many
  int input_dtype_offset =
      -1;  // of an optional dtype attribute that the first input is cast to (sum, softmax)
  int random_key_offset = -1;   // of a PhiloxKey in the attributes: filled by dispatch, one draw a call
  unsigned mutated_params = 0;  // bit i: the kernel writes tensor parameter i; such ops have no outputs
  ResultOrder order = ResultOrder::kRowMajor;
  unsigned order_params = 0;   // bit i: tensor parameter i decides
  bool dynamic_sizes = false;  // output sizes depend on data: inference gives a bound

  InferFn infer = nullptr;
  GradFn grad = nullptr;
  Saved saved;
  std::string no_grad_reason;  // why there is no gradient, for ops on floats that have none
  ViewFn view = nullptr;       // the output shares the input's memory
  bool cuts = false;  // a view of a part of the input, each element once: its gradient is zero elsewhere
  ExpandFn expand = nullptr;  // a composite, written with other ops
  sbp::Rule sbp_rule = nullptr;
  LocalizeFn localize = nullptr;  // null: no attribute depends on how tensors are cut
  CostFn cost = nullptr;

  const char* name() const { return schema.name.c_str(); }
  const void* defaults() const { return attr_type ? prototype.data() : nullptr; }
};

}  // namespace tw::ir
