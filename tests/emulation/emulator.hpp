// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Included before everything else in the backend's sources when they are compiled for the tests here.
//
// Runs CUDA kernels of the backend on the CPU, thread by thread, so that their index arithmetic, their bits
// and the barriers that they need for it can be tested on a machine without a GPU. Every thread of a cluster
// is a context of its own that runs until it waits for others; threads are resumed in a random order, so that
// a missing barrier shows. It says nothing about speed, and nothing about instructions: kernels/ptx here
// stands in for the wrappers of the same names.

#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace papillon_test::emulation {

/// What the threads of a warp, a block or a cluster wait at.
class Barrier {
 public:
  void expect(int threads) { expected_ = threads; }
  /// Says that the calling thread is there; returns the number of the round it has arrived at.
  std::uint64_t arrive() {
    const std::uint64_t round = round_;
    if (++arrived_ == expected_) arrived_ = 0, ++round_;
    return round;
  }
  bool done(std::uint64_t round) const { return round_ != round; }
  /// A thread that has ended waits for nobody and nobody waits for it.
  void leave() {
    --expected_;
    if (expected_ > 0 && arrived_ == expected_) arrived_ = 0, ++round_;
  }

 private:
  int expected_ = 0;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
};

struct Warp {
  Barrier barrier;
  std::uint64_t exchanged[32] = {};
};

struct Block {
  std::vector<Warp> warps;
  Barrier barrier;
  std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  std::vector<std::byte> own;  ///< of all blocks of a cluster but the first
};

struct Thread {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  unsigned block = 0;  ///< within the cluster
  unsigned index = 0;
  std::uint64_t cluster_round = 0;
  bool done = false;
};

/// The cluster that is running.
struct Machine {
  std::vector<Block> blocks;
  std::vector<Thread> threads;
  Barrier cluster_barrier;
  Thread* current = nullptr;
  ucontext_t scheduler{};
  const std::function<void()>* kernel = nullptr;

  Block& block() { return blocks[current->block]; }
  Warp& warp() { return block().warps[current->index / 32]; }
};
inline Machine machine;
constexpr std::size_t most_shared_bytes = 227 << 10;

/// Lets other threads run.
inline void yield() { swapcontext(&machine.current->context, &machine.scheduler); }

inline void wait(Barrier& barrier, std::uint64_t round) {
  while (!barrier.done(round)) yield();
}
inline void sync(Barrier& barrier) { wait(barrier, barrier.arrive()); }

}  // namespace papillon_test::emulation

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __shared__
#define __shared__
#undef __noinline__
#define __noinline__

// What `extern __shared__` declares: the shared memory of the first block of a cluster.
namespace papillon::cuda {
extern unsigned char shared[];
}

// What kernels see of CUDA. (Types and conversions are those of CUDA's own headers, which have host forms.)
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

inline void __syncthreads() {
  papillon_test::emulation::sync(papillon_test::emulation::machine.block().barrier);
}
inline void __syncwarp(unsigned = 0xffffffffu) {
  papillon_test::emulation::sync(papillon_test::emulation::machine.warp().barrier);
}

namespace papillon_test::emulation {

/// Calls read(value_of) while value_of(lane) is the value that the lane gives.
template <class T, class Read>
void share(T value, const Read& read) {
  Warp& warp = machine.warp();
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  __builtin_memcpy(&warp.exchanged[machine.current->index % 32], &value, sizeof(T));
  sync(warp.barrier);
  read([&](unsigned lane) {
    T result;
    __builtin_memcpy(&result, &warp.exchanged[lane], sizeof(T));
    return result;
  });
  sync(warp.barrier);
}

/// The value that lane `from(lane)` of the warp gives.
template <class T, class From>
T exchange(T value, const From& from) {
  T result;
  share(value, [&](const auto& value_of) { result = value_of(from(machine.current->index % 32)); });
  return result;
}

inline void enter() {
  (*machine.kernel)();
  Thread& thread = *machine.current;
  machine.warp().barrier.leave();
  machine.block().barrier.leave();
  machine.cluster_barrier.leave();
  thread.done = true;
  yield();
}

/// Runs `kernel` on `grid` blocks of `threads`, clusters of `cluster` blocks one after the other.
inline void run(unsigned grid, unsigned cluster, unsigned threads, std::size_t shared_bytes,
                const std::function<void()>& kernel) {
  constexpr std::size_t stack_bytes = 64 << 10;
  if (shared_bytes > most_shared_bytes || threads > 1024) throw std::runtime_error("a block too large");
  std::mt19937 random(grid * 31 + threads);
  blockDim = dim3(threads);
  gridDim = dim3(grid);
  machine.kernel = &kernel;
  if (machine.threads.size() < std::size_t{cluster} * threads)
    machine.threads.resize(std::size_t{cluster} * threads);
  for (unsigned first = 0; first < grid; first += cluster) {
    machine.blocks.assign(cluster, {});
    machine.cluster_barrier = {};
    machine.cluster_barrier.expect(static_cast<int>(cluster * threads));
    std::vector<Thread*> running;
    for (unsigned b = 0; b < cluster; ++b) {
      Block& block = machine.blocks[b];
      block.barrier.expect(static_cast<int>(threads));
      if (b > 0) block.own.resize(shared_bytes);
      block.shared = b > 0 ? block.own.data() : reinterpret_cast<std::byte*>(papillon::cuda::shared);
      block.shared_bytes = shared_bytes;
      std::fill_n(block.shared, shared_bytes, std::byte{0xa5});
      block.warps.resize((threads + 31) / 32);
      for (unsigned w = 0; w < block.warps.size(); ++w)
        block.warps[w].barrier.expect(static_cast<int>(std::min(32u, threads - 32 * w)));
      for (unsigned t = 0; t < threads; ++t) {
        Thread& thread = machine.threads[b * threads + t];
        if (thread.stack == nullptr) thread.stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
        thread.block = b;
        thread.index = t;
        thread.done = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = stack_bytes;
        thread.context.uc_link = nullptr;
        makecontext(&thread.context, enter, 0);
        running.push_back(&thread);
      }
    }
    for (std::size_t idle = 0; !running.empty();) {
      std::shuffle(running.begin(), running.end(), random);
      const std::size_t before = running.size();
      for (Thread* thread : running) {
        machine.current = thread;
        threadIdx = {thread->index, 0, 0};
        blockIdx = {first + thread->block, 0, 0};
        swapcontext(&machine.scheduler, &thread->context);
      }
      std::erase_if(running, [](const Thread* thread) { return thread->done; });
      idle = running.size() == before ? idle + 1 : 0;
      if (idle > 100000) throw std::runtime_error("an emulated kernel waits for ever");
    }
  }
}

}  // namespace papillon_test::emulation

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return papillon_test::emulation::exchange(
      value, [&](unsigned lane) { return lane ^ static_cast<unsigned>(mask); });
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return papillon_test::emulation::exchange(value,
                                            [&](unsigned) { return static_cast<unsigned>(from) % 32; });
}
inline unsigned __ballot_sync(unsigned, bool bit) {
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    result |= static_cast<unsigned>(papillon_test::emulation::exchange(bit, [&](unsigned) { return lane; }))
              << lane;
  return result;
}
inline int __any_sync(unsigned mask, int bit) { return __ballot_sync(mask, bit != 0) != 0; }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<std::uint64_t>(high) << 32 | low) << (shift % 32)) >> 32);
}
// Threads take turns, so these need nothing more.
inline unsigned atomicMax(unsigned* place, unsigned value) {
  const unsigned before = *place;
  *place = std::max(before, value);
  return before;
}
inline unsigned long long atomicAdd(unsigned long long* place, unsigned long long value) {
  const unsigned long long before = *place;
  *place += value;
  return before;
}
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline unsigned __brev(unsigned bits) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (bits >> i & 1u) << (31 - i);
  return result;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
template <class T>
void __stcs(T* place, T value) {
  *place = value;
}
template <class T>
void __stcg(T* place, T value) {
  *place = value;
}
template <class T>
T __ldcs(const T* place) {
  return *place;
}

// Launches, and what is asked of kernels before.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const unsigned cluster = config->numAttrs > 0 ? config->attrs[0].val.clusterDim.x : 1;
  papillon_test::emulation::run(config->gridDim.x, cluster, config->blockDim.x, config->dynamicSmemBytes,
                                [&] { kernel(arguments...); });
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*)(Parameters...), cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, void (*)(Parameters...)) {
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*)(Parameters...), int,
                                                          std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*)(Parameters...),
                                           const cudaLaunchConfig_t*) {
  *clusters = 1;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
