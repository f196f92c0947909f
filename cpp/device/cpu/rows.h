// Kernels that work on whole rows (softmax, norms, sorts): every row comes as contiguous memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "device/kernel.h"

namespace tw::device {

// body(row, data) for each row along `dim`: data[k] is the first element of operand k's row, outputs first,
// contiguous. The operands have the same rank and sizes, except along `dim`, where each has its own (its body
// knows them). Rows are numbered in row-major order of the other dims. Rows that are strided in memory are
// gathered some at a time, and scattered after the body where they are outputs; an output may be the same
// memory as an input. Rows are shared among threads. A 0-dim operand is one row of one element.
void run_rows(std::span<const Operand* const> operands, int outputs, int64_t dim,
              FunctionRef<void(int64_t row, char* const* data)> body);

// row_loop({&k.out()}, {&k.in(0)}, dim, [&](int64_t row, char* const* data) { ... })
template <size_t Outputs, size_t Inputs, class Body>
void row_loop(const Operand* const (&outs)[Outputs], const Operand* const (&ins)[Inputs], int64_t dim,
              Body&& body) {
  const Operand* operands[Outputs + Inputs];
  for (size_t i = 0; i < Outputs; i++) operands[i] = outs[i];
  for (size_t i = 0; i < Inputs; i++) operands[Outputs + i] = ins[i];
  run_rows(operands, Outputs, dim, body);
}

}  // namespace tw::device
