// What the lanes of a warp tell each other, of complex numbers: part by part.
#pragma once

#include "cuda/common/complex.h"
#include "cuda/common/group_scan.h"
#include "cuda/common/warp.h"

namespace tw::cuda {

template <class R>
TW_DEVICE Complex<R> shuffle_xor(Complex<R> z, int lanes) {
  return {shuffle_xor(z.re, lanes), shuffle_xor(z.im, lanes)};
}
template <class R>
TW_DEVICE Complex<R> shuffle_up(Complex<R> z, int by) {
  return {shuffle_up(z.re, by), shuffle_up(z.im, by)};
}
template <class R>
TW_DEVICE Complex<R> shuffle_from(Complex<R> z, int lane) {
  return {shuffle_from(z.re, lane), shuffle_from(z.im, lane)};
}

}  // namespace tw::cuda
