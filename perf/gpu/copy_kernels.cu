// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "copy_kernels.hpp"

namespace papillon::perf {
namespace {

/// Every thread copies `Words` 16-byte words, a block's worth apart.
template <int Words, int Threads, bool Streaming>
__global__ void __launch_bounds__(Threads)
    copy_words(uint4* __restrict__ y, const uint4* __restrict__ x, std::int64_t count) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (Words * Threads) + threadIdx.x;
  uint4 words[Words];
#pragma unroll
  for (int w = 0; w < Words; ++w) {
    if (first + w * Threads < count)
      words[w] = Streaming ? __ldcs(x + first + w * Threads) : x[first + w * Threads];
  }
#pragma unroll
  for (int w = 0; w < Words; ++w) {
    if (first + w * Threads < count) {
      if (Streaming) {
        __stcs(y + first + w * Threads, words[w]);
      } else {
        y[first + w * Threads] = words[w];
      }
    }
  }
}

template <int Words, int Threads, bool Streaming>
cudaError_t run(void* y, const void* x, std::size_t bytes, cudaStream_t stream) {
  const auto count = static_cast<std::int64_t>(bytes / 16);
  const auto blocks = static_cast<unsigned>((count + Words * Threads - 1) / (Words * Threads));
  copy_words<Words, Threads, Streaming>
      <<<blocks, Threads, 0, stream>>>(static_cast<uint4*>(y), static_cast<const uint4*>(x), count);
  return cudaGetLastError();
}

/// As copy_words, but of the words written only those below `written`: each block a share of its own.
template <int Words, int Threads, bool Streaming>
__global__ void __launch_bounds__(Threads) read_and_write(uint4* __restrict__ y, const uint4* __restrict__ x,
                                                          std::int64_t count, std::int64_t written) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (Words * Threads) + threadIdx.x;
  uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int w = 0; w < Words; ++w) {
    if (first + w * Threads >= count) continue;
    const uint4 word = Streaming ? __ldcs(x + first + w * Threads) : x[first + w * Threads];
    sum.x ^= word.x;
    sum.y ^= word.y;
    sum.z ^= word.z;
    sum.w ^= word.w;
  }
  const std::int64_t begin = written * blockIdx.x / gridDim.x;
  const std::int64_t end = written * (blockIdx.x + std::int64_t{1}) / gridDim.x;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += Threads) {
    if (Streaming) {
      __stcs(y + i, sum);
    } else {
      y[i] = sum;
    }
  }
}

template <int Words, int Threads, bool Streaming>
cudaError_t run_reduction(void* y, const void* x, std::size_t read, std::size_t written,
                          cudaStream_t stream) {
  const auto count = static_cast<std::int64_t>(read / 16);
  const auto blocks = static_cast<unsigned>((count + Words * Threads - 1) / (Words * Threads));
  read_and_write<Words, Threads, Streaming><<<blocks, Threads, 0, stream>>>(
      static_cast<uint4*>(y), static_cast<const uint4*>(x), count, static_cast<std::int64_t>(written / 16));
  return cudaGetLastError();
}

template <class T>
__global__ void fill(T* x, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    std::uint64_t z = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    // The sum of four uniform numbers is close to normal.
    float sum = -131070.0f;
    for (int p = 0; p < 4; ++p) sum += static_cast<float>(z >> 16 * p & 0xffff);
    x[i] = static_cast<T>(sum / 37837.0f);
  }
}

}  // namespace

const char* name_of_copy(int form) {
  constexpr const char* names[copy_forms] = {"16 B a thread",   "32 B a thread",   "64 B a thread",
                                             "32 B, streaming", "64 B, streaming", "cudaMemcpyAsync"};
  return names[form];
}

cudaError_t copy(int form, void* y, const void* x, std::size_t bytes, cudaStream_t stream) {
  switch (form) {
    case 0:
      return run<1, 512, false>(y, x, bytes, stream);
    case 1:
      return run<2, 256, false>(y, x, bytes, stream);
    case 2:
      return run<4, 256, false>(y, x, bytes, stream);
    case 3:
      return run<2, 256, true>(y, x, bytes, stream);
    case 4:
      return run<4, 256, true>(y, x, bytes, stream);
    default:
      return cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, stream);
  }
}

cudaError_t reduce_bytes(int form, void* y, const void* x, std::size_t read, std::size_t written,
                         cudaStream_t stream) {
  switch (form) {
    case 0:
      return run_reduction<2, 512, false>(y, x, read, written, stream);
    case 1:
      return run_reduction<4, 512, false>(y, x, read, written, stream);
    case 2:
      return run_reduction<4, 256, true>(y, x, read, written, stream);
    default:
      return run_reduction<8, 256, true>(y, x, read, written, stream);
  }
}

cudaError_t fill_normal(void* x, std::size_t elements, int dtype, cudaStream_t stream) {
  const auto count = static_cast<std::int64_t>(elements);
  switch (dtype) {
    case 0:
      fill<<<1024, 256, 0, stream>>>(static_cast<float*>(x), count);
      break;
    case 1:
      fill<<<1024, 256, 0, stream>>>(static_cast<__half*>(x), count);
      break;
    case 2:
      fill<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(x), count);
      break;
    case 3:
      fill<<<1024, 256, 0, stream>>>(static_cast<double*>(x), count);
      break;
    default:
      fill<<<1024, 256, 0, stream>>>(static_cast<int*>(x), count);
      break;
  }
  return cudaGetLastError();
}

}  // namespace papillon::perf
