// The part of the CUDA runtime's interface that captures streams and runs graphs.
#pragma once

#include "cuda/common/runtime.h"

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/graphs.h"
#endif
