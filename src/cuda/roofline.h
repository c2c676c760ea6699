// The least time that honest work can take on a device.
#pragma once

#include "base/dtype.h"
#include "cuda/device.h"

namespace tritogen::cuda {

// Floating-point operations per clock and SM of dense matrix products with operands of this type, tensor
// cores where they take it (float32 counts as TF32: a program may be allowed that). 0 where the architecture
// is not in the table.
double FlopsPerClockPerSm(int capability, Dtype dtype);

// Seconds below which no program that does `flops` operations on operands of `dtype` and moves `bytes`
// between memory and chip can end: the greater of both at the highest clocks. Where the architecture is
// unknown, from the bytes alone. REQUIRES: both ≥ 0.
double RooflineFloor(double flops, double bytes, Dtype dtype, const DeviceInfo& device);

}  // namespace tritogen::cuda
