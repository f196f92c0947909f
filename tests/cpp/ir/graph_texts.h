// Texts of graphs that several tests start from.
#pragma once

#include <memory>
#include <string>

#include "eager/dispatch.h"
#include "ir/graph_text.h"

namespace tw::test {

inline std::unique_ptr<ir::Graph> parsed(std::string_view text) {
  eager::initialize();
  return ir::parse_graph(text);
}

// Every kind of statement, input and attribute, as print_graph writes it.
inline const char* const kEverything = R"(graph "step" {
  input %0 "x" : float32[8, 16]
  input %1 "index" : int64[8]
  variable %2 "fc.weight" : float32[4, 16]
  variable %3 "moment" : float32[4, 16]
  constant %4 "mask" : bool[8, 16]
  number $0 "lr"
  number $1 "step"
  %5 = transpose(%2, dim0=0, dim1=1) : float32[16, 4] in "fc" at "train.py:12"
  %6, %7 = dropout_of(%0, p=0.1, _part=[8.0, 0.0, 16.0, 16.0]) draw 3 : float32[8, 16], bool[8, 16] in "drop"
  %8 = linear(%6, %2, None) : float32[8, 4] at "odd \"path\" \\ é\x00\n\xff.py:3"
  %9, %10 = max_dim(%8, dim=1) : float32[8], int64[8]
  %11 = cat([%0, %6], dim=1) : float32[8, 32]
  %12 = full(size=[], fill_value=-0.0, dtype=float64) : float64[]
  %13 = full(size=[2], fill_value=(1e-05-infj), dtype=complex128) : complex128[2]
  %14 = full(size=[0, 3], fill_value=-9223372036854775808, dtype=int64) : int64[0, 3]
  %15 = full(size=[1], fill_value=True, dtype=bool) : bool[1]
  %16 = full(size=[1], fill_value=nan, dtype=float16) : float16[1]
  %17 = full(size=[1], fill_value=$1, dtype=int64) : int64[1]
  %18 = gelu(%8, approximate="tanh") : float32[8, 4]
  %19 = sum(%18, dim=[-1], keepdim=True) : float32[8, 1]
  %20 = sum(%18, dtype=float64) : float64[]
  %21 = clamp(%20, None, %12) : float64[]
  %22 = index_gather(%0, [None, %1]) : float32[8, 8]
  %23, %24 = lion_step([%2], [%2], [%3], lr=$0:0.001, beta1=0.9, beta2=inf, weight_decay=-0.0, maximize=False) : float32[4, 16], float32[4, 16]
  %25, %26, %27 = adam_step([%23], [%24], [%3], [%3], [], steps=[$1:7], lr=5e-324, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=$0:-0.0, decoupled=True, maximize=False) : float32[4, 16], float32[4, 16], float32[4, 16]
  %28 = full(size=[2, $1:3], fill_value=$0:1.0, dtype=float32) : float32[2, 3]
  multi_tensor_clip([], %20, max_norm=1.7976931348623157e+308)
  assign %2 = %23
  assign %3 = %24
  return %9, %22, %0
  draws 4
}
)";

}  // namespace tw::test
