// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base_matrix.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "papillon/orders.hpp"

namespace papillon::cuda {
namespace {

/// Lets this thread allocate and wait on a stream of its own while it captures another.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

SmallBase small_base(std::int64_t m, bool transpose) {
  SmallBase base{};
  if (m <= 1 || m > SmallBase::max_order) return base;
  const auto& entries = detail::base_matrix(m);
  for (std::int64_t p = 0; p < m; ++p) {
    for (std::int64_t q = 0; q < m; ++q) {
      if (entries[static_cast<std::size_t>(transpose ? q * m + p : p * m + q)] < 0)
        base.rows[p] |= std::uint64_t{1} << q;
    }
  }
  return base;
}

const std::int8_t* device_base_matrix(const Device& device, std::int64_t m) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::int64_t>, const std::int8_t*> tables;
  const std::lock_guard lock(mutex);
  const auto place = tables.find({device.index, m});
  if (place != tables.end()) return place->second;

  const auto& entries = detail::base_matrix(m);
  const RelaxedCapture relaxed;
  void* table = nullptr;
  cudaStream_t stream = nullptr;
  check(cudaMalloc(&table, entries.size()), "allocating a base matrix");
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(table, entries.data(), entries.size(), cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (stream != nullptr) cudaStreamDestroy(stream);
  if (error != cudaSuccess) {
    cudaFree(table);
    check(error, "copying a base matrix to the GPU");
  }
  tables[{device.index, m}] = static_cast<const std::int8_t*>(table);
  return static_cast<const std::int8_t*>(table);
}

}  // namespace papillon::cuda
