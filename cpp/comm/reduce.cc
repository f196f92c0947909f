#include "comm/reduce.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/error.h"
#include "comm/reduction_formula.h"
#include "device/cpu/clones.h"
#include "device/cpu/parallel.h"

namespace tw::comm {

namespace {

constexpr int64_t kBlock = 2048;      // elements whose sums stay in the first cache
constexpr int64_t kGrain = 64 << 10;  // elements that are worth a thread

using Sum = SumElements;
using Prod = MultiplyElements;
using Min = LeastElement;
using Max = LargestElement;

// output may be a or b.
template <class T, class Op>
TW_CLONES void pair(T* output, const T* a, const T* b, int64_t count, Op) {
  for (int64_t i = 0; i < count; i++) output[i] = Op::apply(a[i], b[i]);
}

template <class T, class Op>
TW_CLONES void half_into(float* sums, const T* input, int64_t count, Op) {
  for (int64_t i = 0; i < count; i++) sums[i] = Op::apply(sums[i], static_cast<float>(input[i]));
}

template <class T>
TW_CLONES void widen(float* sums, const T* input, int64_t count) {
  for (int64_t i = 0; i < count; i++) sums[i] = static_cast<float>(input[i]);
}

template <class T>
TW_CLONES void narrow(T* output, const float* sums, int64_t count) {
  for (int64_t i = 0; i < count; i++) output[i] = T(sums[i]);
}

// Blocks in a buffer of their own until all inputs are in: an input that is the output may come late.
template <class T, class Op>
void fold(T* output, std::span<const void* const> inputs, int64_t first, int64_t last) {
  auto at = [&](size_t k, int64_t i) { return static_cast<const T*>(inputs[k]) + i; };
  for (int64_t i = first; i < last; i += kBlock) {
    int64_t count = std::min(kBlock, last - i);
    if constexpr (is_half_type<T>) {
      float sums[kBlock];
      widen(sums, at(0, i), count);
      for (size_t k = 1; k < inputs.size(); k++) half_into(sums, at(k, i), count, Op());
      narrow(output + i, sums, count);
    } else if (inputs.size() == 2) {
      pair(output + i, at(0, i), at(1, i), count, Op());
    } else {
      T sums[kBlock];
      std::copy_n(at(0, i), count, sums);
      for (size_t k = 1; k < inputs.size(); k++) pair(sums, sums, at(k, i), count, Op());
      std::copy_n(sums, count, output + i);
    }
  }
}

template <class T, class Op>
void fold_parallel(void* output, std::span<const void* const> inputs, int64_t count) {
  device::parallel_for(0, count, kGrain, [&](int64_t first, int64_t last) {
    fold<T, Op>(static_cast<T*>(output), inputs, first, last);
  });
}

}  // namespace

void check_reduction(DType dtype, Reduction reduction, const char* op) {
  TW_CHECK(!is_complex(dtype) || reduction == Reduction::kSum || reduction == Reduction::kProd,
           kNotImplemented, op, ": complex numbers have no order, got ", name_of(reduction), " of ", dtype);
}

void reduce(DType dtype, Reduction reduction, void* output, std::span<const void* const> inputs,
            int64_t count) {
  check_reduction(dtype, reduction, "reduce");
  dispatch_all(dtype, "reduce", [&]<class T>() {
    if (inputs.size() == 1) {
      if (output != inputs[0]) std::copy_n(static_cast<const T*>(inputs[0]), count, static_cast<T*>(output));
      return;
    }
    if (reduction == Reduction::kSum) return fold_parallel<T, Sum>(output, inputs, count);
    if (reduction == Reduction::kProd) return fold_parallel<T, Prod>(output, inputs, count);
    if constexpr (!is_complex_type<T>) {
      if (reduction == Reduction::kMin) return fold_parallel<T, Min>(output, inputs, count);
      fold_parallel<T, Max>(output, inputs, count);
    }
  });
}

namespace {

template <class T>
using Sums = std::conditional_t<is_half_type<T>, float, T>;

// body.operator()<T, Op>()
template <class Body>
void for_reduction(DType dtype, Reduction reduction, Body body) {
  dispatch_all(dtype, "reduce", [&]<class T>() {
    if (reduction == Reduction::kSum) return body.template operator()<T, Sum>();
    if (reduction == Reduction::kProd) return body.template operator()<T, Prod>();
    if constexpr (!is_complex_type<T>) {
      if (reduction == Reduction::kMin) return body.template operator()<T, Min>();
      body.template operator()<T, Max>();
    }
  });
}

}  // namespace

Accumulator::Accumulator(DType dtype, Reduction reduction, int64_t capacity)
    : dtype_(dtype), reduction_(reduction), sums_(capacity * (is_half(dtype) ? 4 : size_of(dtype))) {
  check_reduction(dtype, reduction, "reduce");
}

void Accumulator::put(const void* input, int64_t first, int64_t count) {
  dispatch_all(dtype_, "reduce", [&]<class T>() {
    Sums<T>* sums = reinterpret_cast<Sums<T>*>(sums_.data()) + first;
    if constexpr (is_half_type<T>)
      widen(sums, static_cast<const T*>(input), count);
    else
      std::copy_n(static_cast<const T*>(input), count, sums);
  });
}

void Accumulator::add(const void* input, int64_t first, int64_t count) {
  for_reduction(dtype_, reduction_, [&]<class T, class Op>() {
    Sums<T>* sums = reinterpret_cast<Sums<T>*>(sums_.data()) + first;
    if constexpr (is_half_type<T>)
      half_into(sums, static_cast<const T*>(input), count, Op());
    else
      pair(sums, sums, static_cast<const T*>(input), count, Op());
  });
}

void Accumulator::store(void* output, int64_t count) const {
  dispatch_all(dtype_, "reduce", [&]<class T>() {
    const Sums<T>* sums = reinterpret_cast<const Sums<T>*>(sums_.data());
    if constexpr (is_half_type<T>)
      narrow(static_cast<T*>(output), sums, count);
    else
      std::copy_n(sums, count, static_cast<T*>(output));
  });
}

}  // namespace tw::comm
