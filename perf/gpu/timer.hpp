// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <vector>

#include "copy_kernels.hpp"

namespace papillon::perf {

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Times calls on a stream of its own.
struct Timer {
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  int replays = 11;

  Timer() {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    require(cudaEventCreate(&begin));
    require(cudaEventCreate(&end));
  }

  /// Microseconds of one call: the median of replays of a graph of `repeats` calls.
  double time(int repeats, const std::function<void()>& call) {
    call();
    require(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < repeats; ++i) call();
    require(cudaStreamEndCapture(stream, &graph));
    require(cudaGraphInstantiate(&runnable, graph, 0));
    require(cudaGraphLaunch(runnable, stream));
    std::vector<float> times;
    for (int r = 0; r < replays; ++r) {
      require(cudaEventRecord(begin, stream));
      require(cudaGraphLaunch(runnable, stream));
      require(cudaEventRecord(end, stream));
      require(cudaEventSynchronize(end));
      float milliseconds = 0;
      require(cudaEventElapsedTime(&milliseconds, begin, end));
      times.push_back(milliseconds * 1e3f / static_cast<float>(repeats));
    }
    require(cudaGraphExecDestroy(runnable));
    require(cudaGraphDestroy(graph));
    std::nth_element(times.begin(), times.begin() + replays / 2, times.end());
    return static_cast<double>(times[static_cast<std::size_t>(replays / 2)]);
  }

  /// Microseconds of the fastest plain copy.
  double fastest_copy(void* y, const void* x, std::size_t bytes, int repeats) {
    double best = 1e30;
    for (int form = 0; form < copy_forms; ++form)
      best = std::min(best, time(repeats, [&] { require(copy(form, y, x, bytes, stream)); }));
    return best;
  }

  /// Microseconds of the fastest kernel that reads and writes so many bytes.
  double fastest_reduction(void* y, const void* x, std::size_t read, std::size_t written, int repeats) {
    double best = 1e30;
    for (int form = 0; form < reduction_forms; ++form)
      best = std::min(best, time(repeats, [&] { require(reduce_bytes(form, y, x, read, written, stream)); }));
    return best;
  }
};

}  // namespace papillon::perf
