// PARTITA_TARGET_CLONES before a function: the compiler builds it for AVX-512, AVX2 and plain x86-64, and the loader
// takes the best that the machine has; one binary runs everywhere. Empty under sanitizers: gcc 12's resolvers run
// before they are set up. Not for templates nor for functions with OpenMP regions (their bodies would not be cloned).
#ifndef PARTITA_OPS_HOST_KERNEL_TARGET_CLONES_H_
#define PARTITA_OPS_HOST_KERNEL_TARGET_CLONES_H_

#if defined(PARTITA_NO_OPENMP) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define PARTITA_TARGET_CLONES
#else
#define PARTITA_TARGET_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

// Whether the machine has AVX-512.
inline bool HasWideVectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

// Before a loop whose iterations do not depend on each other, though its pointers may be equal (in place).
#define PARTITA_INDEPENDENT _Pragma("GCC ivdep")

#endif  // PARTITA_OPS_HOST_KERNEL_TARGET_CLONES_H_
