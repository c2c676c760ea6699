// The entry of one instruction set's build.
#include "tile/lanes/kernels.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {

extern const Tables kTables = {FindBinary, FindUnary,  FindTernary, FindClampAll, FindCompare,     FindSelect,
                               FindCast,   FindReduce, FindScan,    FindDot,      FindVectorExtern};

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
