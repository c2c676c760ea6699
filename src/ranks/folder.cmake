# <nccl.h> for its types; the library itself is loaded at run time.
target_include_directories(ranks SYSTEM PRIVATE ${TRITOGEN_SITE_PACKAGES}/nvidia/nccl/include)
