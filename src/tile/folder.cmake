# Lane kernels are compiled once per instruction set from the same sources; TRITOGEN_ISA names the namespace.
file(GLOB lane_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/tile/lanes/kernels_*.cc)
set(isas generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND isas avx2 avx512)
endif()
set(flags_generic -O2)
set(flags_avx2 -O3 -march=x86-64-v3)
set(flags_avx512 -O3 -march=x86-64-v4 -mprefer-vector-width=512)

# Vector forms of libm, whole since glibc 2.35. Without them the AVX builds call libm, too.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES mvec)
set(CMAKE_REQUIRED_FLAGS -mavx512f)
check_cxx_source_compiles("#include <immintrin.h>
  extern \"C\" __m512 _ZGVeN16v_erff(__m512);
  int main() { return _mm512_reduce_add_ps(_ZGVeN16v_erff(_mm512_set1_ps(0))) != 0; }" TRITOGEN_HAVE_MVEC)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)
if(TRITOGEN_HAVE_MVEC)
  target_link_libraries(tile PUBLIC mvec)
endif()

foreach(isa ${isas})
  add_library(lanes_${isa} OBJECT ${lane_sources})
  # Floating-point exceptions are nobody's input, and selects vectorise when they may be ignored. The intrinsics of
  # GCC 12 read undefined registers on purpose.
  target_compile_options(lanes_${isa} PRIVATE ${flags_${isa}} -fno-trapping-math -Wno-maybe-uninitialized)
  target_compile_definitions(lanes_${isa} PRIVATE TRITOGEN_ISA=${isa} $<$<BOOL:${TRITOGEN_HAVE_MVEC}>:TRITOGEN_HAVE_MVEC>)
  target_link_libraries(lanes_${isa} PRIVATE base)
  target_sources(tile PRIVATE $<TARGET_OBJECTS:lanes_${isa}>)
endforeach()

file(GLOB lane_common CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/tile/lanes/*.cc)
list(FILTER lane_common EXCLUDE REGEX "kernels_.*\\.cc$")
target_sources(tile PRIVATE ${lane_common})
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/tile/lanes/libdevice_rounded.cc PROPERTIES COMPILE_OPTIONS -frounding-math)
