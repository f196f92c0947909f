// TW_FORMULA marks a function that both CPU and CUDA kernels call: <stem>_formula.h beside an op's definition
// holds its arithmetic once, as templates over the type of an element (docs/adding_an_op.md). Inlined always,
// so that the loop it stands in decides which instructions it is made of.
#pragma once

#ifdef __CUDACC__
#define TW_FORMULA __host__ __device__ __forceinline__
#else
#define TW_FORMULA __attribute__((always_inline)) inline
#endif
