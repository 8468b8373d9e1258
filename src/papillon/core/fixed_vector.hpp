// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace papillon::detail {

/// Up to `Capacity` values in place: no allocation, and no cost for places that are not used, which is what
/// std::array would take on every call. (C++26 has std::inplace_vector.)
template <class T, std::size_t Capacity>
  requires std::is_trivially_copyable_v<T>
class FixedVector {
 public:
  FixedVector() = default;
  FixedVector(const FixedVector& other) { *this = other; }
  FixedVector& operator=(const FixedVector& other) {
    if (this == &other) return *this;
    size_ = other.size_;
    std::uninitialized_copy_n(other.data(), size_, data());
    return *this;
  }

  /// Throws std::length_error when all places are taken.
  T& push_back(const T& value) {
    return add([&] { return value; });
  }
  /// The same for the result of `make()`, made in its place.
  template <class Make>
  T& add(const Make& make) {
    if (size_ == Capacity) throw std::length_error("papillon: a FixedVector is full");
    return *::new (static_cast<void*>(bytes_ + size_++ * sizeof(T))) T(make());
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  const T* data() const { return std::launder(reinterpret_cast<const T*>(bytes_)); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t index) { return data()[index]; }
  const T& operator[](std::size_t index) const { return data()[index]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

 private:
  alignas(T) std::byte bytes_[Capacity * sizeof(T)];
  std::size_t size_ = 0;
};

}  // namespace papillon::detail
