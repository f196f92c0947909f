// NCCL's interface: its own header, or the emulator's part of it.
#pragma once

#ifdef TW_CUDA_EMULATOR
#include "tests/cuda/emulator/nccl.h"
#else
#include <nccl.h>
#endif
