# The CPU runner's kernels are compiled once per instruction set from the same sources; TRITOGEN_ISA names the
# namespace. Whether a CPU has it is asked at run time.
file(GLOB cpu_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/runner/cpu/kernels_*.cc)
set(cpu_isas generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND cpu_isas avx2 avx512)
endif()
set(cpu_flags_generic -O2 -ftree-vectorize)
set(cpu_flags_avx2 -O3 -march=x86-64-v3)
set(cpu_flags_avx2bf16 ${cpu_flags_avx2})
set(cpu_flags_avx512 -O3 -march=x86-64-v4 -mprefer-vector-width=512)
set(cpu_flags_avx512bf16 -O3 -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)
set(cpu_flags_amx -O3 -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16)
foreach(isa ${cpu_isas})
  add_library(cpu_kernels_${isa} OBJECT ${cpu_kernels})
endforeach()
if("avx512" IN_LIST cpu_isas)
  # Products alone: of all else the kernels are AVX2's and AVX-512's.
  foreach(isa avx2bf16 avx512bf16 amx)
    list(APPEND cpu_isas ${isa})
    add_library(cpu_kernels_${isa} OBJECT ${CMAKE_SOURCE_DIR}/src/runner/cpu/${isa}.cc)
  endforeach()
endif()
foreach(isa ${cpu_isas})
  # Sums may be fused here: what must be equal is one row in two batches, not two machines.
  target_compile_options(cpu_kernels_${isa} PRIVATE ${cpu_flags_${isa}} -ffp-contract=fast -fno-trapping-math -Wno-psabi
                         -Wno-uninitialized)  # the intrinsics of GCC 12 read undefined registers on purpose
  target_compile_definitions(cpu_kernels_${isa} PRIVATE TRITOGEN_ISA=${isa})
  target_sources(runner PRIVATE $<TARGET_OBJECTS:cpu_kernels_${isa}>)
endforeach()
target_sources(runner PRIVATE ${CMAKE_SOURCE_DIR}/src/runner/cpu/level.cc)
