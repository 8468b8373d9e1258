// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>

#include "cases.hpp"
#include "papillon/core/half.hpp"

namespace papillon::perf {

/// Memory for one case, filled with normal numbers, page-aligned.
class Buffer {
 public:
  explicit Buffer(const Case& what) : memory_(static_cast<char*>(std::aligned_alloc(4096, bytes(what)))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    // A block of random numbers, repeated: making a gigabyte of them would take longer than the measurement.
    const std::int64_t count = what.elements();
    const std::int64_t block = std::min<std::int64_t>(count, 1 << 16);
    const std::size_t size = size_of(what.scalar);
    for (std::int64_t i = 0; i < block; ++i) put(what.scalar, i, normal(generator));
    for (std::int64_t i = block; i < count; i += block) {
      std::memcpy(memory_.get() + static_cast<std::size_t>(i) * size, memory_.get(),
                  static_cast<std::size_t>(block) * size);
    }
  }

  void* data() { return memory_.get(); }

 private:
  static std::size_t bytes(const Case& what) {
    return (static_cast<std::size_t>(what.bytes) + 4095) / 4096 * 4096;
  }

  void put(ScalarType scalar, std::int64_t i, float value) {
    switch (scalar) {
      case ScalarType::float32:
        reinterpret_cast<float*>(memory_.get())[i] = value;
        break;
      case ScalarType::float64:
        reinterpret_cast<double*>(memory_.get())[i] = value;
        break;
      case ScalarType::float16:
        reinterpret_cast<half*>(memory_.get())[i] = half(value);
        break;
      case ScalarType::bfloat16:
        reinterpret_cast<bfloat16*>(memory_.get())[i] = bfloat16(value);
        break;
      default:
        break;
    }
  }

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
};

}  // namespace papillon::perf
