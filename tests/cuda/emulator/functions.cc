// Functions of CUDA's that the C library lacks.
#include "device/cpu/math.h"
#include "tests/cuda/emulator/device.h"

double erfinv(double x) { return tw::math::erfinv(x); }
float erfinvf(float x) { return tw::math::erfinv(x); }
