// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/base_signs.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "papillon/orders.hpp"

namespace papillon::generic {

template <class C>
const C* base_signs(std::int64_t m, bool transpose) {
  // Every tile of a pass asks for the same table, from many threads.
  thread_local std::pair<std::int64_t, bool> last{0, false};
  thread_local const C* last_table = nullptr;
  if (last_table != nullptr && last == std::pair{m, transpose}) return last_table;
  static std::mutex mutex;
  static std::map<std::pair<std::int64_t, bool>, std::vector<C>> tables;
  const std::lock_guard lock(mutex);
  auto [place, fresh] = tables.try_emplace({m, transpose});
  if (fresh) {
    const auto& entries = papillon::detail::base_matrix(m);
    std::vector<C>& table = place->second;
    table.assign(entries.begin(), entries.end());
    for (std::int64_t i = 0; transpose && i < m; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        std::swap(table[static_cast<std::size_t>(i * m + j)], table[static_cast<std::size_t>(j * m + i)]);
      }
    }
  }
  last = {m, transpose};
  last_table = place->second.data();
  return last_table;
}

template const float* base_signs<float>(std::int64_t, bool);
template const double* base_signs<double>(std::int64_t, bool);
template const std::int32_t* base_signs<std::int32_t>(std::int64_t, bool);
template const std::int64_t* base_signs<std::int64_t>(std::int64_t, bool);

}  // namespace papillon::generic
