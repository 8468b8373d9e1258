// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_reference.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <vector>

#include "timer.hpp"

namespace papillon::perf {
namespace {

constexpr int samples = 8192;

__device__ std::uint64_t mixed(std::uint64_t z) {  // splitmix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

template <class T>
__global__ void fill(T* x, std::size_t count, unsigned seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint64_t bits = mixed((i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull);
    const double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
    const double v = static_cast<double>(bits & 0xffffffffu) * 0x1p-32;
    x[i] = static_cast<T>(sqrt(-2.0 * log(u)) * cospi(2.0 * v));  // Box and Muller
  }
}

/// a + b with its error: D. Knuth's two-sum; sums of products in twice the precision (T. Ogita et al., 2005).
__device__ void add(double& high, double& low, double value) {
  const double sum = high + value;
  const double part = sum - high;
  low += (high - (sum - part)) + (value - part);
  high = sum;
}

template <class In, class Out>
__global__ void compare(const In* a, const In* b, const Out* c, std::int64_t m, std::int64_t n,
                        std::int64_t k, double* squares) {
  const std::uint64_t place = mixed((blockIdx.x + 1) * 0x9E3779B97F4A7C15ull);
  const auto row = static_cast<std::int64_t>(place % static_cast<std::uint64_t>(m));
  const auto column = static_cast<std::int64_t>((place >> 32) % static_cast<std::uint64_t>(n));
  double high = 0, low = 0;
  for (std::int64_t l = threadIdx.x; l < k; l += 32) {
    const auto x = static_cast<double>(a[row * k + l]);
    const auto y = static_cast<double>(b[l * n + column]);
    const double product = x * y;
    low += fma(x, y, -product);
    add(high, low, product);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    low += __shfl_down_sync(0xffffffffu, low, lanes);
    const double other = __shfl_down_sync(0xffffffffu, high, lanes);
    add(high, low, other);
  }
  if (threadIdx.x == 0) {
    const double exact = high + low;
    const double error = (static_cast<double>(c[row * n + column]) - high) - low;
    squares[2 * blockIdx.x] = error * error;
    squares[2 * blockIdx.x + 1] = exact * exact;
  }
}

template <class In, class Out>
void launch(const ComputedProduct& product, double* squares, cudaStream_t stream) {
  compare<<<samples, 32, 0, stream>>>(static_cast<const In*>(product.a), static_cast<const In*>(product.b),
                                      static_cast<const Out*>(product.c), product.m, product.n, product.k,
                                      squares);
}

}  // namespace

cudaError_t fill_gaussian(void* x, ScalarType type, std::size_t count, unsigned seed, cudaStream_t stream) {
  switch (type) {
    case ScalarType::float64:
      fill<<<1024, 256, 0, stream>>>(static_cast<double*>(x), count, seed);
      break;
    case ScalarType::float16:
      fill<<<1024, 256, 0, stream>>>(static_cast<__half*>(x), count, seed);
      break;
    case ScalarType::bfloat16:
      fill<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(x), count, seed);
      break;
    default:
      fill<<<1024, 256, 0, stream>>>(static_cast<float*>(x), count, seed);
      break;
  }
  return cudaGetLastError();
}

double relative_error(const ComputedProduct& product, cudaStream_t stream) {
  double* squares = nullptr;
  require(cudaMalloc(&squares, 2 * samples * sizeof(double)));
  const bool widened = product.out == ScalarType::float32;
  switch (product.in) {
    case ScalarType::float64:
      launch<double, double>(product, squares, stream);
      break;
    case ScalarType::float16:
      widened ? launch<__half, float>(product, squares, stream)
              : launch<__half, __half>(product, squares, stream);
      break;
    case ScalarType::bfloat16:
      widened ? launch<__nv_bfloat16, float>(product, squares, stream)
              : launch<__nv_bfloat16, __nv_bfloat16>(product, squares, stream);
      break;
    default:
      launch<float, float>(product, squares, stream);
      break;
  }
  require(cudaGetLastError());
  std::vector<double> host(2 * samples);
  require(cudaMemcpyAsync(host.data(), squares, 2 * samples * sizeof(double), cudaMemcpyDefault, stream));
  require(cudaStreamSynchronize(stream));
  require(cudaFree(squares));
  double errors = 0, sizes = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    errors += host[2 * i];
    sizes += host[2 * i + 1];
  }
  return std::sqrt(errors / sizes);
}

}  // namespace papillon::perf
