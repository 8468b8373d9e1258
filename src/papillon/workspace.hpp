// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace papillon {

/// Memory for an operator's intermediate results, readable and writable where it runs; how much it needs,
/// `hadamard_workspace_bytes` and the like say; `data` is aligned to 16 bytes. With `data`
/// null the operator allocates what it needs itself.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace papillon
