// One function of an element: reads and writes it once, 20 to 60 instructions. Floor: bytes over the
// bandwidth.
//
// Per element: 8 bytes and 30 operations (sin, float32).
#include "cuda/common/functions.h"

namespace tw::cuda {

namespace {

TW_FUNCTION(Sin, std::sin(x))
TW_FUNCTION(Cos, std::cos(x))
TW_FUNCTION(Tan, std::tan(x))
TW_FUNCTION(Asin, std::asin(x))
TW_FUNCTION(Acos, std::acos(x))
TW_FUNCTION(Atan, std::atan(x))
TW_FUNCTION(Sinh, std::sinh(x))
TW_FUNCTION(Cosh, std::cosh(x))
TW_FUNCTION(Tanh, std::tanh(x))
TW_FUNCTION(Asinh, std::asinh(x))
TW_FUNCTION(Acosh, std::acosh(x))
TW_FUNCTION(Atanh, std::atanh(x))
TW_BINARY_FUNCTION(Atan2, std::atan2(g, x))
TW_BINARY_FUNCTION(TanhBackward, g*(C(1) - x * x))

}  // namespace

void kernels_trigonometric(device::KernelTable& table) {
  table.add("sin", unary_kernel<Sin>);
  table.add("cos", unary_kernel<Cos>);
  table.add("tan", unary_kernel<Tan>);
  table.add("asin", unary_kernel<Asin>);
  table.add("acos", unary_kernel<Acos>);
  table.add("atan", unary_kernel<Atan>);
  table.add("sinh", unary_kernel<Sinh>);
  table.add("cosh", unary_kernel<Cosh>);
  table.add("tanh", unary_kernel<Tanh>);
  table.add("asinh", unary_kernel<Asinh>);
  table.add("acosh", unary_kernel<Acosh>);
  table.add("atanh", unary_kernel<Atanh>);
  table.add("atan2", binary_kernel<Atan2>);
  table.add("tanh_backward", binary_kernel<TanhBackward>);
}

}  // namespace tw::cuda
