// TW_CLONES compiles a function for AVX-512, for AVX2+FMA and for any x86-64, and picks one when the library
// loads.
//
// Put it on the function that holds the loop. All that the loop calls must be inlined (lambdas, TW_INLINE
// functions): a call that stays a call runs baseline code. Templates are fine if they live in an unnamed
// namespace or take a type that does (a lambda).
#pragma once

#if defined(TW_SANITIZE) || !defined(__x86_64__)
#define TW_CLONES
#else
#define TW_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

#define TW_INLINE __attribute__((always_inline)) inline
