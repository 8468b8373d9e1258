// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/base_signs.hpp"

#include <map>
#include <mutex>
#include <vector>

#include "papillon/orders.hpp"

namespace papillon::generic {

template <class C>
const C* base_signs(std::int64_t m) {
  static std::mutex mutex;
  static std::map<std::int64_t, std::vector<C>> tables;
  const std::lock_guard lock(mutex);
  auto [place, fresh] = tables.try_emplace(m);
  if (fresh) {
    const auto& entries = papillon::detail::base_matrix(m);
    place->second.assign(entries.begin(), entries.end());
  }
  return place->second.data();
}

template const float* base_signs<float>(std::int64_t);
template const double* base_signs<double>(std::int64_t);
template const std::int32_t* base_signs<std::int32_t>(std::int64_t);
template const std::int64_t* base_signs<std::int64_t>(std::int64_t);

}  // namespace papillon::generic
