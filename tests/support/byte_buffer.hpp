// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace papillon_test {

/// Bytes aligned to 64, poisoned, with poisoned guards before and behind, so that a byte not written and a
/// stray write both show.
template <class Space>
class ByteBuffer {
 public:
  static constexpr std::size_t guard = 64;
  static constexpr std::uint8_t poison = 0xab;

  explicit ByteBuffer(std::size_t bytes)
      : host_(bytes + 2 * guard, poison),
        device_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "bytes"), bytes + 2 * guard) {
    upload();
  }
  ByteBuffer(const void* source, std::size_t bytes) : ByteBuffer(bytes) { set(source); }

  /// Writes as many bytes as the buffer has.
  void set(const void* source) {
    if (size() > 0) std::memcpy(host_.data() + guard, source, size());  // source may be null then
    upload();
  }
  std::vector<std::uint8_t> get() {
    download();
    return {host_.begin() + guard, host_.end() - guard};
  }
  template <class T>
  T get_as() {
    T value;
    std::memcpy(&value, get().data(), sizeof(T));
    return value;
  }

  std::size_t size() const { return host_.size() - 2 * guard; }
  std::span<std::uint8_t> span() const { return {device_.data() + guard, size()}; }
  template <class T>
  T* pointer() const {
    return reinterpret_cast<T*>(device_.data() + guard);
  }

  bool surroundings_intact() {
    download();
    const auto is_poison = [](std::uint8_t byte) { return byte == poison; };
    return std::all_of(host_.begin(), host_.begin() + guard, is_poison) &&
           std::all_of(host_.end() - guard, host_.end(), is_poison);
  }
  /// True when every byte is as the constructor left it.
  bool untouched() {
    download();
    return std::all_of(host_.begin(), host_.end(), [](std::uint8_t byte) { return byte == poison; });
  }

 private:
  using HostView = Kokkos::View<std::uint8_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  void upload() { Kokkos::deep_copy(device_, HostView(host_.data(), host_.size())); }
  void download() { Kokkos::deep_copy(HostView(host_.data(), host_.size()), device_); }

  std::vector<std::uint8_t> host_;
  Kokkos::View<std::uint8_t*, typename Space::memory_space> device_;
};

}  // namespace papillon_test
