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

struct Scratch {
  std::unique_ptr<void, Free> memory;
  std::size_t size = 0;
};

}  // namespace

void* thread_scratch(std::size_t bytes, ScratchUse use) {
  thread_local Scratch kept[2];
  Scratch& scratch = kept[static_cast<std::size_t>(use)];
  if (bytes > scratch.size) {
    scratch.memory.reset();
    scratch.size = 0;
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    scratch.memory.reset(::operator new(rounded, alignment));
    scratch.size = rounded;
  }
  return scratch.memory.get();
}

}  // namespace papillon::generic
