// Defines TESSERA_STAGE, which stands before the functions that a kernel's loop consists of. They are inlined, except
// with emulated vectors and under sanitizers: these are slow in any case, and loops that hold all stages would take the
// compiler minutes. The file is included again for each instruction set.
#undef TESSERA_STAGE
#undef TESSERA_IS_SLOW
#if HWY_TARGET == HWY_EMU128 || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESSERA_STAGE HWY_NOINLINE
#define TESSERA_IS_SLOW true
#else
#define TESSERA_STAGE HWY_INLINE
#define TESSERA_IS_SLOW false
#endif
