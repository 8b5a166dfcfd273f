// Includes Highway, except in sources for the target of simd/lane, which has its names.
//
// Like Highway's own header it is included again for each instruction set.
#ifndef TESSERA_LANE
#include <hwy/highway.h>
#endif
