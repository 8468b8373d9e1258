// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "papillon/core/tensor.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"

namespace papillon_test {

using Strides = std::vector<std::int64_t>;

/// How an array lies in memory.
enum class Memory { row_major, column_major, padded, strided, permuted, reversed };
inline constexpr Memory all_memories[] = {Memory::row_major, Memory::column_major, Memory::padded,
                                          Memory::strided,   Memory::permuted,     Memory::reversed};

inline std::string to_string(Memory memory) {
  static const char* const names[] = {"row-major", "column-major", "padded",
                                      "strided",   "permuted",     "reversed"};
  return names[static_cast<int>(memory)];
}

/// Strides of `shape` in the given way. `padded` leaves a gap after every row, `strided` also one after every
/// element, `permuted` lets the middle index vary fastest, `reversed` steps backwards along the last index.
inline Strides make_strides(const Shape& shape, Memory memory) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> fastest_first(rank);
  std::iota(fastest_first.rbegin(), fastest_first.rend(), std::size_t{0});
  if (memory == Memory::column_major) std::reverse(fastest_first.begin(), fastest_first.end());
  if (memory == Memory::permuted)
    std::rotate(fastest_first.begin(), fastest_first.begin() + rank / 2, fastest_first.end());
  Strides strides(rank);
  std::int64_t stride = memory == Memory::strided ? 3 : 1;
  for (std::size_t d = 0; d < rank; ++d) {
    strides[fastest_first[d]] = stride;
    stride *= std::max<std::int64_t>(shape[fastest_first[d]], 1);
    if (d == 0 && (memory == Memory::padded || memory == Memory::strided)) stride += 5;
  }
  if (memory == Memory::reversed) strides.back() = -strides.back();
  return strides;
}

/// An array inside a larger allocation whose other elements (guards before and after, padding between) hold a
/// fixed byte pattern, so that a stray write shows.
template <class T, class Space = Kokkos::DefaultHostExecutionSpace>
class Guarded {
 public:
  static constexpr std::int64_t guard = 97;  // odd, so that data are aligned to the scalar only
  static constexpr int poison = 0xa5;

  explicit Guarded(Shape shape, Memory memory = Memory::row_major)
      : Guarded(shape, make_strides(shape, memory)) {}
  Guarded(Shape shape, Strides strides) : shape_(std::move(shape)), strides_(std::move(strides)) {
    std::int64_t low = 0, high = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::int64_t reach = (std::max<std::int64_t>(shape_[d], 1) - 1) * strides_[d];
      (reach < 0 ? low : high) += reach;
    }
    first_ = guard - low;
    host_.resize(static_cast<std::size_t>(first_ + high + 1 + guard));
    std::memset(static_cast<void*>(host_.data()), poison, host_.size() * sizeof(T));
    device_ = decltype(device_)(Kokkos::view_alloc(Kokkos::WithoutInitializing, "guarded"), host_.size());
    offsets_.reserve(volume(shape_));
    if (volume(shape_) > 0) collect(0, first_);
    upload();
  }
  Guarded(Shape shape, Memory memory, const std::vector<T>& values) : Guarded(std::move(shape), memory) {
    set(values);
  }

  /// Writes the elements, in row-major order of the indices.
  void set(const std::vector<T>& values) {
    for (std::size_t i = 0; i < offsets_.size(); ++i) host_[offsets_[i]] = values[i];
    upload();
  }

  /// The elements, in row-major order of the indices.
  std::vector<T> get() {
    download();
    std::vector<T> values(offsets_.size());
    for (std::size_t i = 0; i < offsets_.size(); ++i) values[i] = host_[offsets_[i]];
    return values;
  }

  /// True when every byte that is not part of the array still holds the pattern.
  bool surroundings_intact() {
    download();
    std::vector<T> rest = host_;
    for (const auto offset : offsets_) std::memset(static_cast<void*>(&rest[offset]), poison, sizeof(T));
    const auto* bytes = reinterpret_cast<const unsigned char*>(rest.data());
    return std::all_of(bytes, bytes + rest.size() * sizeof(T),
                       [](unsigned char byte) { return byte == poison; });
  }

  /// True when no byte differs from the pattern, inside the array or out.
  bool untouched() {
    download();
    const auto* bytes = reinterpret_cast<const unsigned char*>(host_.data());
    return std::all_of(bytes, bytes + host_.size() * sizeof(T),
                       [](unsigned char byte) { return byte == poison; });
  }

  /// Every byte of the allocation.
  std::vector<unsigned char> bytes() {
    download();
    const auto* begin = reinterpret_cast<const unsigned char*>(host_.data());
    return {begin, begin + host_.size() * sizeof(T)};
  }

  papillon::TensorDescriptor descriptor() const {
    papillon::TensorDescriptor tensor{
        device_.data() + first_, papillon::scalar_type_of<T>, static_cast<int>(shape_.size()), {}, {}};
    std::copy(shape_.begin(), shape_.end(), tensor.extents.begin());
    std::copy(strides_.begin(), strides_.end(), tensor.strides.begin());
    return tensor;
  }
  papillon::ConstTensorDescriptor const_descriptor() const { return descriptor(); }

 private:
  using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  void collect(std::size_t dimension, std::int64_t offset) {
    if (dimension == shape_.size()) {
      offsets_.push_back(static_cast<std::size_t>(offset));
      return;
    }
    for (std::int64_t i = 0; i < shape_[dimension]; ++i, offset += strides_[dimension])
      collect(dimension + 1, offset);
  }
  void upload() { Kokkos::deep_copy(device_, HostView(host_.data(), host_.size())); }
  void download() { Kokkos::deep_copy(HostView(host_.data(), host_.size()), device_); }

  Shape shape_;
  Strides strides_;
  std::int64_t first_ = 0;
  std::vector<T> host_;
  std::vector<std::size_t> offsets_;
  Kokkos::View<T*, typename Space::memory_space> device_;
};

}  // namespace papillon_test
