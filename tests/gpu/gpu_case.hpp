// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "papillon/core/tensor.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon::test {

inline constexpr ScalarType real_types[] = {ScalarType::float32,  ScalarType::float64, ScalarType::float16,
                                            ScalarType::bfloat16, ScalarType::int32,   ScalarType::int64};
inline constexpr ScalarType all_types[] = {ScalarType::float32,   ScalarType::float64,   ScalarType::float16,
                                           ScalarType::bfloat16,  ScalarType::int32,     ScalarType::int64,
                                           ScalarType::complex64, ScalarType::complex128};

enum class Fill {
  normal,       ///< random normal
  adversarial,  ///< signed zeros, subnormals, huge values, infinities, NaN among ordinary values
  bits,         ///< any bit pattern
};

/// One transform, run on the GPU and by the CPU layer from the same host bytes. Whole buffers are compared,
/// what lies between and around the elements included.
struct Case {
  ScalarType type = ScalarType::float32;
  std::vector<std::int64_t> extents = {};
  std::vector<std::int64_t> x_strides = {};  ///< elements; empty: dense, last index fastest
  std::vector<std::int64_t> y_strides = {};
  std::int64_t x_shift = 0;  ///< elements that the first one lies behind a 256-byte boundary
  std::int64_t y_shift = 0;
  std::int64_t sign_shift = 0;  ///< the same for the vector of signs
  bool in_place = false;
  Fill fill = Fill::normal;
  HadamardOptions options = {};  ///< sign values point to the host
};

/// `count` signs without a pattern.
std::vector<std::int8_t> sign_vector(std::size_t count);

/// Calls check(signs) for n signs from a vector and from a seed, on the input and on the output.
template <class Check>
void for_each_signs(std::int64_t n, const Check& check) {
  const std::vector<std::int8_t> values = sign_vector(static_cast<std::size_t>(n));
  for (const SignSide side : {SignSide::input, SignSide::output}) {
    check(Signs{values, {}, side});
    check(Signs{{}, 17, side});
  }
}

/// Empty when both give the same bits (NaN payloads excepted) and x is untouched; else what differs.
std::string compare(const Case& problem);

/// Device memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  template <class T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// `count` elements of `type`.
std::vector<unsigned char> make_data(ScalarType type, std::int64_t count, Fill fill, std::uint64_t seed);

/// The first element in which the arrays differ, -1 if none; NaNs equal each other.
std::int64_t first_difference(ScalarType type, const void* a, const void* b, std::int64_t count);

void require_cuda(cudaError_t error);

}  // namespace papillon::test
