// The product of matrices that stands for cuBLASLt's.
#include "cuda/device/gemm.h"

#include "base/error.h"
#include "tests/cuda/emulator/graphs.h"
#include "tests/cuda/emulator/memory.h"

namespace tw::cuda {

namespace {

// Libraries read and write whole rows or columns; they too may touch only what is a tensor's, and read what
// is set.
void check_row(const Gemm& gemm, const void* data, int64_t count, int64_t step, emulator::ByteState least) {
  int64_t size = size_of(gemm.dtype);
  for (int64_t i = 0; i < count; i++) {
    const char* at = static_cast<const char*>(data) + i * step * size;
    for (int64_t byte = 0; byte < size; byte++)
      TW_CHECK(emulator::g_region.holds(at) && *emulator::g_region.states_of(at + byte) >= least, kDevice,
               gemm.op,
               ": the matrix product touches memory that is nobody's or not set: ", emulator::place_of(at));
  }
}

template <class C>
C scale(complex128 factor) {
  if constexpr (is_complex_type<C>)
    return C(factor);
  else
    return static_cast<C>(factor.real());
}

template <class T>
void multiply(const Gemm& g, int64_t batch) {
  auto* a = static_cast<const T*>(g.a.data) + batch * g.a.batch;
  auto* b = static_cast<const T*>(g.b.data) + batch * g.b.batch;
  auto* c = static_cast<T*>(g.c) + batch * g.c_batch;
  auto* bias = static_cast<const T*>(g.bias);
  using C = compute_t<T>;
  for (int64_t i = 0; i < g.m; i++) check_row(g, a + i * g.a.down, g.k, g.a.right, emulator::ByteState::kSet);
  for (int64_t i = 0; i < g.k; i++) check_row(g, b + i * g.b.down, g.n, g.b.right, emulator::ByteState::kSet);
  for (int64_t i = 0; i < g.m; i++) {
    auto least = g.beta != 0.0 ? emulator::ByteState::kSet : emulator::ByteState::kUnset;
    check_row(g, c + i * g.c_down, g.n, 1, least);
    for (int64_t j = 0; j < g.n; j++) {
      C sum = 0;
      for (int64_t l = 0; l < g.k; l++)
        sum +=
            static_cast<C>(a[i * g.a.down + l * g.a.right]) * static_cast<C>(b[l * g.b.down + j * g.b.right]);
      C value = scale<C>(g.alpha) * sum;
      T* at = c + i * g.c_down + j;
      if (g.beta != 0.0) value += scale<C>(g.beta) * static_cast<C>(*at);
      if (bias) value += static_cast<C>(bias[j]);
      *at = T(value);
    }
    emulator::mark(c + i * g.c_down, static_cast<size_t>(g.n) * sizeof(T), emulator::ByteState::kSet);
  }
}

}  // namespace

void run_gemm(const Gemm& gemm, cudaStream_t stream) {
  static const char kind = 0;
  if (emulator::keep(&kind, [=] { run_gemm(gemm, stream); })) return;
  emulator::DeviceAccess access;
  dispatch_float_complex(gemm.dtype, gemm.op, [&]<class T>() {
    for (int64_t batch = 0; batch < gemm.batches; batch++) multiply<T>(gemm, batch);
  });
}

}  // namespace tw::cuda
