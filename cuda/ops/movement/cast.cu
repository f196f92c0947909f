// cast, clone, row_major, copy. Bytes: the input and the output once, no flops. Floor: bytes over the
// bandwidth. Where innermost dims differ (a transposed copy) the elements go one by one, and one side misses
// the lines of the cache: up to the size of a line over that of an element from the floor.
//
// Per element: 8 bytes and 0 operations (clone, float32).
#include "cuda/common/complex.h"
#include "cuda/common/copy.h"
#include "cuda/common/pointwise.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

inline constexpr int kCastPack = 4;  // of either side: at most two accesses of 16 bytes, four of complex128

// A complex number becomes its real part, or true where either part is not 0.
template <class Out, class Value>
TW_DEVICE stored_t<Out> recast(Value value) {
  if constexpr (is_device_complex<Value> && is_device_complex<Out>) {
    using R = decltype(Out::re);
    return {static_cast<R>(value.re), static_cast<R>(value.im)};
  } else if constexpr (is_device_complex<Out>) {
    return {convert<decltype(Out::re)>(value), 0};
  } else if constexpr (!is_device_complex<Value>) {
    return convert<Out>(value);
  } else if constexpr (std::is_same_v<Out, bool>) {
    return static_cast<uint8_t>(value.re != 0 || value.im != 0);
  } else {
    return convert<Out>(value.re);
  }
}

template <class Out>
struct CastStep {
  template <class In, int kPack>
  TW_DEVICE static void run(const char* from, bool fixed, Pack<stored_t<Out>, kPack>& out, int count) {
    auto* at = reinterpret_cast<const stored_t<In>*>(from);
    if (count == kPack) {
      Pack<stored_t<In>, kPack> in;
      read_pack<In>(in, from, fixed);
      TW_UNROLL
      for (int j = 0; j < kPack; j++) out.at[j] = recast<Out>(load<In>(in.at[j]));
    } else {
      // By numbers that the compiler knows: an index would put the pack into memory.
      TW_UNROLL
      for (int j = 0; j < kPack; j++)
        if (j < count) out.at[j] = recast<Out>(load<In>(at[fixed ? 0 : j]));
    }
  }
};

// The input's dtype is told at run time, which is the same for all threads: a kernel for each output dtype.
template <class Out, int kPack>
__global__ void __launch_bounds__(kPointwiseThreads) cast_kernel(Walk<2> walk, DType in) {
  int64_t step = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (step >= walk.steps) return;
  int count = step == walk.steps - 1 && walk.tail ? walk.tail : kPack;
  int64_t at[2];
  walk.offsets(step, at);
  Pack<stored_t<Out>, kPack> out{};
  const char* from = walk.data[1] + at[1];
  bool fixed = walk.fixed >> 1 & 1;
  switch (in) {
    case DType::kBool:
      CastStep<Out>::template run<bool>(from, fixed, out, count);
      break;
    case DType::kUInt8:
      CastStep<Out>::template run<uint8_t>(from, fixed, out, count);
      break;
    case DType::kInt8:
      CastStep<Out>::template run<int8_t>(from, fixed, out, count);
      break;
    case DType::kInt16:
      CastStep<Out>::template run<int16_t>(from, fixed, out, count);
      break;
    case DType::kInt32:
      CastStep<Out>::template run<int32_t>(from, fixed, out, count);
      break;
    case DType::kInt64:
      CastStep<Out>::template run<int64_t>(from, fixed, out, count);
      break;
    case DType::kFloat16:
      CastStep<Out>::template run<float16>(from, fixed, out, count);
      break;
    case DType::kBFloat16:
      CastStep<Out>::template run<bfloat16>(from, fixed, out, count);
      break;
    case DType::kFloat32:
      CastStep<Out>::template run<float>(from, fixed, out, count);
      break;
    case DType::kFloat64:
      CastStep<Out>::template run<double>(from, fixed, out, count);
      break;
    case DType::kComplex64:
      CastStep<Out>::template run<Complex<float>>(from, fixed, out, count);
      break;
    case DType::kComplex128:
      CastStep<Out>::template run<Complex<double>>(from, fixed, out, count);
  }
  auto* to = reinterpret_cast<stored_t<Out>*>(walk.data[0] + at[0]);
  if (count == kPack) {
    store_pack(to, out);
  } else {
    TW_UNROLL
    for (int j = 0; j < kPack; j++)
      if (j < count) to[j] = out.at[j];
  }
}

template <class T>
struct Same {
  TW_DEVICE T operator()(T x) const { return x; }
};

void convert_dtype(const Operand& out, const Operand& in, const char* op) {
  Walk<2> walk;
  walk.data[0] = static_cast<char*>(out.data);
  walk.data[1] = static_cast<char*>(in.data);
  const Operand* operands[] = {&out, &in};
  MergedDims dims = merge_dims(*out.sizes, operands);
  const int sizes[] = {size_of(out.dtype), size_of(in.dtype)};
  bool packed = make_walk(dims, kCastPack, sizes, op, &walk);
  if (!packed) make_walk(dims, 1, sizes, op, &walk);
  auto blocks = static_cast<unsigned>((walk.steps + kPointwiseThreads - 1) / kPointwiseThreads);
  dispatch_elements(out.dtype, op, [&]<class T>() {
    launch(op, packed ? cast_kernel<T, kCastPack> : cast_kernel<T, 1>, {blocks, kPointwiseThreads}, walk,
           in.dtype);
  });
}

}  // namespace

void copy_cast(const Operand& out, const Operand& in, const char* op) {
  if (out.count() == 0) return;
  if (out.dtype != in.dtype) return convert_dtype(out, in, op);
  dispatch_bytes(out.dtype,
                 [&]<class T>() { pointwise_over(Types<T>{}, Types<T>{}, {&out}, {&in}, op, Same<T>{}); });
}

namespace {

void to_output(KernelContext& k) { copy_cast(k.out(), k.in(0), k.op); }
void copy_kernel(KernelContext& k) { copy_cast(k.out(), k.in(1), k.op); }

}  // namespace

void kernels_cast(device::KernelTable& table) {
  table.add("cast", to_output);
  table.add("clone", to_output);
  table.add("row_major", to_output);
  table.add("copy", copy_kernel);
  table.add("fill", copy_kernel);
}

}  // namespace tw::cuda
