// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "papillon/core/tensor_checks.hpp"

namespace papillon::generic {

/// The caller's workspace, or an allocation in the same memory that lives as long as this object.
template <class ExecutionSpace>
class WorkspaceHolder {
 public:
  WorkspaceHolder(const ExecutionSpace& space, std::string_view operator_name, const Workspace& given,
                  std::size_t bytes) {
    data_ = detail::given_workspace(operator_name, given, bytes);
    if (bytes == 0 || data_ != nullptr) return;
    owned_ = Kokkos::View<char*, typename ExecutionSpace::memory_space>(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing,
                           "papillon::" + std::string(operator_name) + " workspace"),
        bytes);
    data_ = owned_.data();
  }

  void* data() const { return data_; }

 private:
  Kokkos::View<char*, typename ExecutionSpace::memory_space> owned_;
  void* data_ = nullptr;
};

}  // namespace papillon::generic
