// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <functional>

namespace papillon::generic {

/// Runs the tasks of a step on a host space, for code that is compiled once for all spaces.
class HostLoop {
 public:
  using Task = std::function<void(std::int64_t)>;

  HostLoop() = default;
  HostLoop(const HostLoop&) = delete;
  HostLoop& operator=(const HostLoop&) = delete;
  virtual ~HostLoop() = default;

  virtual int threads() const = 0;
  /// Returns when task(0) … task(count - 1) have run, in any order.
  virtual void run(std::int64_t count, const Task& task) const = 0;
};

/// One after the other in the calling thread.
class SerialLoop final : public HostLoop {
 public:
  int threads() const override { return 1; }
  void run(std::int64_t count, const Task& task) const override {
    for (std::int64_t i = 0; i < count; ++i) task(i);
  }
};

template <class ExecutionSpace>
class KokkosLoop final : public HostLoop {
 public:
  explicit KokkosLoop(const ExecutionSpace& space) : space_(space) {}

  int threads() const override { return space_.concurrency(); }
  void run(std::int64_t count, const Task& task) const override {
    if (count <= 1) return SerialLoop().run(count, task);
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>,
                                       Kokkos::Schedule<Kokkos::Dynamic>>;
    Policy policy(space_, 0, count);
    policy.set_chunk_size(1);
    Kokkos::parallel_for("papillon::gemm", policy, [&task](std::int64_t i) { task(i); });
  }

 private:
  const ExecutionSpace& space_;
};

}  // namespace papillon::generic
