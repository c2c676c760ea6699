// Which instruction sets there are.
#include "runner/cpu/isa.h"
#include "tile/lanes/lanes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tritogen::cpu {
namespace {

#if defined(__x86_64__) && defined(__linux__)
bool HasAvx512Bf16() {
  constexpr unsigned kAvx512Bf16 = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvx512Bf16) != 0;
}

// The CPU has AMX for bfloat16, and the system lends this process its registers.
bool HasAmx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // asm/prctl.h, and the state component
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

}  // namespace

Level BestLevel() {
  static const Level best = [] {
    const tile::lanes::Isa isa = tile::lanes::BestIsa();
#if defined(__x86_64__) && defined(__linux__)
    if (isa == tile::lanes::Isa::kAvx512)
      return !HasAvx512Bf16() ? Level::kAvx512 : HasAmx() ? Level::kAmx : Level::kAvx512Bf16;
#endif
    return isa == tile::lanes::Isa::kAvx2 ? Level::kAvx2 : Level::kGeneric;
  }();
  return best;
}

const Kernels& KernelsOf(Level level) {
#if defined(__x86_64__)
  if (level >= Level::kAvx512) return avx512::kKernels;
  if (level == Level::kAvx2) return avx2::kKernels;
#endif
  return generic::kKernels;
}

const LinearKernels& LinearFor(const Matrix& matrix, Level level) {
#if defined(__x86_64__)
  if (level == Level::kAmx && amx::kLinear.takes(matrix)) return amx::kLinear;
  if (level >= Level::kAvx512Bf16 && avx512bf16::kLinear.takes(matrix)) return avx512bf16::kLinear;
  if (level == Level::kAvx2 && avx2bf16::kLinear.takes(matrix)) return avx2bf16::kLinear;
#endif
  return KernelsOf(level).linear;
}

}  // namespace tritogen::cpu
