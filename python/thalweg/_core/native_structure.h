// Nested Python values (arguments, results) as a list of nodes: tensors and numbers apart from what is around
// them. The rules of what a container is, what counts as equal and what is a number stand here only.
#pragma once

#include <pybind11/pybind11.h>

#include "base/small_vector.h"
#include "eager/global.h"
#include "native.h"

namespace tw::py {

// What a call gives a program anew: its tensors and numbers, in the order of their places.
struct Arguments {
  SmallVector<eager::Tensor, 8> tensors;
  SmallVector<Scalar, 8> numbers;
};

// What the program of a tensor depends on.
struct TensorType {
  explicit TensorType(const eager::TensorImpl& tensor);
  bool fits(const eager::TensorImpl& tensor) const;
  DType dtype;
  Dims sizes, strides;
  device::Device device;
  const sbp::Layout* layout;  // null: a local tensor
  bool needs_grad, leaf, inference, read_only;
};

// Lists, tuples, named tuples, dicts and dataclasses are looked into; the same tensor gets one place. Other
// values count by type and equality, those that are equal to themselves only by identity, and are held
// weakly.
class Structure {
 public:
  enum class Kind : uint8_t {
    kTensor,
    kInt,
    kFloat,
    kFormula,
    kValue,
    kObject,
    kTuple,
    kNamed,
    kList,
    kDict,
    kRecord
  };
  struct Node {
    Kind kind;
    int index = 0;            // of the tensor or number; of a container, how many items follow
    pybind11::object object;  // the value; a weak reference to it; the type of a tuple or dataclass
    pybind11::object names;   // a tuple: keys of a dict, fields of a dataclass
  };

  // Ints and floats are numbers of the program, but not below the positions and names that are static. Throws
  // PythonError (TypeError) for values that cannot be keys.
  static Structure of_call(pybind11::tuple args, pybind11::dict kwargs,
                           const std::vector<int>& static_positions,
                           const std::vector<std::string>& static_names, const std::string& function);
  // Traced numbers are formulas; other values are what they are.
  static Structure of_result(pybind11::object tree, const pybind11::type& number_type);

  // Whether a call differs from this one in its tensors and numbers only, which are appended to `found`.
  // `kwargs` may be null. Throws PythonError.
  bool match(PyObject* args, PyObject* kwargs, Arguments* found) const;
  // The value with these in the places. New reference; throws PythonError.
  PyObject* build(std::span<PyObject* const> tensors, std::span<PyObject* const> numbers) const;
  std::pair<pybind11::object, pybind11::object> build_call(const pybind11::list& tensors,
                                                           const pybind11::list& numbers) const;

  // False when an object that is held weakly is gone.
  bool alive() const;
  // To the objects that are held weakly, with a callback for their end.
  std::vector<pybind11::object> weak_references(const pybind11::object& callback) const;
  // In words, one for each node; without types of tensors and values of numbers.
  std::vector<std::string> parts() const;
  int traverse(visitproc visit, void* arg) const;

  const std::vector<pybind11::object>& tensors() const { return tensors_; }
  const std::vector<pybind11::object>& numbers() const { return numbers_; }
  const std::vector<TensorType>& types() const { return types_; }
  const std::vector<std::string>& formulas() const { return formulas_; }
  size_t number_count() const { return number_count_; }
  void forget() { tensors_.clear(), numbers_.clear(); }  // what the first call gave

 private:
  class Maker;
  class Matcher;
  class Builder;
  std::vector<Node> nodes_;
  std::vector<pybind11::object> tensors_, numbers_;
  size_t number_count_ = 0;
  std::vector<TensorType> types_;
  std::vector<std::string> formulas_;
};

}  // namespace tw::py
