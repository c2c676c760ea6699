// A cubin with all that a launcher has to know about it, and its form on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tritogen::cuda {

// How Triton lowered one host tensor descriptor: as a TMA tensor map, or (no TMA) as pointer, shape, strides
// and the padding flag.
struct TensorMapLayout {
  int swizzle = 0;  // CUtensorMapSwizzle
  int element_bytes = 0;
  int element_type = 0;        // as Triton numbers them on the device side
  std::vector<int64_t> block;  // elements each block of threads copies at once, outermost first
  bool fp4_padded = false;
};

// A parameter of the TTIR function.
struct Parameter {
  enum class Kind { kPointer, kInteger, kFloat16, kBFloat16, kFloat32, kFloat64, kDescriptor };
  Kind kind = Kind::kPointer;
  int bits = 64;                // of integers: 1, 8, 16, 32, 64
  int rank = 0;                 // of descriptors, which are followed by rank shapes and rank strides
  bool has_tensor_map = false;  // descriptors only
  TensorMapLayout tensor_map;
};

struct Scratch {
  int64_t bytes_per_program = 0;  // per block of threads: times grid size times num_ctas
  int64_t alignment = 1;
};

// What the cubin itself declares, in order; the launcher's packing must agree byte for byte.
struct ParameterSlot {
  int bytes = 0, alignment = 1;
  bool operator==(const ParameterSlot&) const = default;
};

struct CompiledKernel {
  std::string key;   // content hash of TTIR, options, target and compiler: 64 hexadecimal digits
  std::string name;  // entry symbol
  std::string cubin;
  std::vector<Parameter> parameters;  // of the TTIR function, in order
  std::vector<ParameterSlot> slots;   // of the cubin; trailing ones are Triton's scratch pointers
  int scratch_parameters = 2;         // 0 … 2: global, then profile
  int num_warps = 4;                  // those that warp specialisation added included
  int num_ctas = 1;                   // blocks of a cluster
  int64_t shared_bytes = 0;           // dynamic, per block
  int64_t tensor_memory_columns = 0;  // Blackwell
  Scratch global_scratch, profile_scratch;
  bool launch_pdl = false, launch_cooperative_grid = false;
  int registers = 0;        // per thread
  int64_t spill_bytes = 0;  // stores + loads of one thread
  std::string ptx;          // only when asked for
};

struct CompileFailure {
  enum class Reason {
    kInvalid,       // TTIR that Triton does not parse or verify
    kLowering,      // a pass of Triton's or LLVM's gave up
    kPtxas,         // ptxas refused the PTX
    kSharedMemory,  // more shared (or tensor) memory than a block may have
    kTimeout,
    kKilled,          // the compiler process crashed or was killed
    kInfrastructure,  // no compiler process to be had, or it answered nonsense; says nothing of the kernel
  } reason = Reason::kInvalid;
  std::string detail;  // one sentence, then whatever the compiler printed, cut
};
std::string_view ReasonName(CompileFailure::Reason reason);  // "shared_memory"

using CompileOutcome = std::variant<CompiledKernel, CompileFailure>;

// What worker/compile.py answers, and what the cache keeps: one MessagePack map (docs/formats/worker.md).
// Decoding throws FormatError for anything else, and for a kernel whose parameters do not add up to its
// cubin's.
CompileOutcome DecodeOutcome(std::string_view bytes);
std::string EncodeFailure(const CompileFailure& failure);

}  // namespace tritogen::cuda
