// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/thread_scratch.hpp"

#include <memory>
#include <new>

namespace papillon::generic {
namespace {

constexpr std::align_val_t alignment{128};

struct Free {
  void operator()(void* memory) const { ::operator delete(memory, alignment); }
};

}  // namespace

void* thread_scratch(std::size_t bytes) {
  thread_local std::unique_ptr<void, Free> memory;
  thread_local std::size_t size = 0;
  if (bytes > size) {
    memory.reset();
    size = 0;
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    memory.reset(::operator new(rounded, alignment));
    size = rounded;
  }
  return memory.get();
}

}  // namespace papillon::generic
