// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include "gemm.hpp"

namespace papillon::perf {
namespace {

// The C interface of BLAS, as cblas.h has it.
constexpr int row_major = 101;
constexpr int no_transpose = 111;
template <class T>
using Gemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

/// The functions of OpenBLAS, which stays loaded.
struct OpenBlas {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  void (*set_threads)(int) = nullptr;

  OpenBlas() {
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    sgemm = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
    dgemm = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  }
  bool complete() const { return sgemm != nullptr && dgemm != nullptr && set_threads != nullptr; }
};

template <class T>
void multiply(Gemm<T> gemm, std::int64_t size, const GemmArrays& arrays) {
  const int n = static_cast<int>(size);
  gemm(row_major, no_transpose, no_transpose, n, n, n, T{1}, static_cast<const T*>(arrays.a), n,
       static_cast<const T*>(arrays.b), n, T{0}, static_cast<T*>(arrays.c), n);
}

}  // namespace

std::function<void()> openblas_product(const GemmCase& what, const GemmArrays& arrays, int threads) {
  static const OpenBlas blas;
  if (!blas.complete()) return {};
  return [=] {
    blas.set_threads(threads);
    if (what.scalar == ScalarType::float32) {
      multiply(blas.sgemm, what.n, arrays);
    } else {
      multiply(blas.dgemm, what.n, arrays);
    }
  };
}

}  // namespace papillon::perf
