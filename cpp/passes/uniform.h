// Values all of whose elements are known to equal one number.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tw::passes {

class Uniform {
 public:
  explicit Uniform(ir::Graph& graph) : by_id_(graph.number()) {}

  // The number, before it is converted to the dtype of the value.
  const std::optional<Scalar>& of(const ir::Value& value) const { return by_id_[ir::graph_value(value).id]; }
  void set(const ir::GraphValue& value, const Scalar& number) { by_id_[value.id] = number; }
  // To be called for every node in order: full and zero make such values, views and copies keep them so.
  void learn(const ir::Node& node);

 private:
  std::vector<std::optional<Scalar>> by_id_;
};

}  // namespace tw::passes
