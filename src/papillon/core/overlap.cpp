// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace papillon::detail {
namespace {

using Wide = __int128;

/// One term `stride * i` with 0 <= i <= last, in bytes; made non-negative by the caller.
struct Term {
  Wide stride;
  Wide last;
};

/// Searches sum(stride_k * i_k) == target over the bounds, largest stride first: each level tries only the
/// values that the smaller terms can still complete.
class BoundedSum {
 public:
  explicit BoundedSum(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.stride > b.stride; });
    // a·s + b·s with a <= A and b <= B takes every value c·s with c <= A + B, so equal strides are one term:
    // then arrays of equal strides are decided in a few steps, whatever their size.
    std::size_t count = 0;
    for (const Term& term : terms_) {
      if (count > 0 && terms_[count - 1].stride == term.stride) {
        terms_[count - 1].last += term.last;
      } else {
        terms_[count++] = term;
      }
    }
    terms_.resize(count);
    reach_.assign(count + 1, 0);
    divisor_.assign(count + 1, 0);
    for (std::size_t k = count; k-- > 0;) {
      reach_[k] = reach_[k + 1] + terms_[k].stride * terms_[k].last;
      divisor_[k] = gcd(divisor_[k + 1], terms_[k].stride);
    }
  }

  /// True when a solution exists or the budget ran out before that was decided.
  bool may_reach(Wide target) { return search(0, target); }

 private:
  static Wide gcd(Wide a, Wide b) {
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  bool search(std::size_t k, Wide target) {
    if (target < 0 || target > reach_[k]) return false;
    if (target == 0) return true;
    if (k == terms_.size() || target % divisor_[k] != 0) return false;
    if (--budget_ < 0) return true;
    const Wide stride = terms_[k].stride;
    const Wide high = std::min(terms_[k].last, target / stride);
    const Wide missing = target - reach_[k + 1];
    const Wide low = missing > 0 ? (missing + stride - 1) / stride : 0;
    for (Wide i = high; i >= low; --i) {
      if (search(k + 1, target - i * stride)) return true;
      if (budget_ < 0) return true;
    }
    return false;
  }

  std::vector<Term> terms_;
  std::vector<Wide> reach_;
  std::vector<Wide> divisor_;
  int budget_ = 20000;
};

bool empty(const ConstTensorDescriptor& tensor) {
  const auto shape = tensor.shape();
  return std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent == 0; });
}

/// Lowest and one-past-highest byte.
std::pair<Wide, Wide> byte_range(const ConstTensorDescriptor& tensor) {
  const Wide size = static_cast<Wide>(size_of(tensor.type));
  Wide low = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(tensor.data));
  Wide high = low;
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const Wide span = static_cast<Wide>(tensor.strides[i]) * (tensor.extents[i] - 1) * size;
    (span < 0 ? low : high) += span;
  }
  return {low, high + size};
}

void append_terms(const ConstTensorDescriptor& tensor, std::vector<Term>& terms) {
  const Wide size = static_cast<Wide>(size_of(tensor.type));
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (tensor.extents[i] <= 1 || tensor.strides[i] == 0) continue;
    const Wide stride = static_cast<Wide>(tensor.strides[i] < 0 ? -tensor.strides[i] : tensor.strides[i]);
    terms.push_back({stride * size, tensor.extents[i] - 1});
  }
}

/// The common case that the search need not see: strides nest, each at least the reach of the faster ones.
/// Every call of an operator asks, so nothing is allocated here.
bool nests(const ConstTensorDescriptor& tensor) {
  std::array<Term, max_rank> terms{};
  std::size_t count = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    if (tensor.extents[d] <= 1) continue;
    if (tensor.strides[d] == 0) return false;
    const Term term{tensor.strides[d] < 0 ? -static_cast<Wide>(tensor.strides[d]) : tensor.strides[d],
                    tensor.extents[d] - 1};
    std::size_t place = count++;
    for (; place > 0 && terms[place - 1].stride > term.stride; --place) terms[place] = terms[place - 1];
    terms[place] = term;
  }
  Wide reach = 1;
  for (std::size_t k = 0; k < count; ++k) {
    if (terms[k].stride < reach) return false;
    reach += terms[k].stride * terms[k].last;
  }
  return true;
}

}  // namespace

Overlap overlap(const ConstTensorDescriptor& x, const ConstTensorDescriptor& y) {
  if (empty(x) || empty(y)) return Overlap::none;
  const auto [x_low, x_high] = byte_range(x);
  const auto [y_low, y_high] = byte_range(y);
  if (x_high <= y_low || y_high <= x_low) return Overlap::none;
  if (x.data == y.data && x.type == y.type && x.rank == y.rank) {
    bool same = true;
    for (int d = 0; d < x.rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      // The stride of an axis of length 1 has no meaning.
      same = same && x.extents[i] == y.extents[i] && (x.extents[i] == 1 || x.strides[i] == y.strides[i]);
    }
    if (same) return Overlap::same;
  }
  // x_low + a + p == y_low + b + q with offsets a, b and bytes p, q within an element. With b mirrored
  // (b = reach - b'), that is a + b' + p + q' == y_high - 1 - x_low.
  std::vector<Term> terms;
  append_terms(x, terms);
  append_terms(y, terms);
  terms.push_back({1, static_cast<Wide>(size_of(x.type)) - 1});
  terms.push_back({1, static_cast<Wide>(size_of(y.type)) - 1});
  return BoundedSum(std::move(terms)).may_reach(y_high - 1 - x_low) ? Overlap::partial : Overlap::none;
}

bool overlaps_itself(const ConstTensorDescriptor& tensor) {
  if (empty(tensor) || nests(tensor)) return false;
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (tensor.extents[i] > 1 && tensor.strides[i] == 0) return true;
  }
  // Two tuples collide when the slower of the indices in which they differ makes up for the rest: fix a
  // difference of 1 … last in one index and look for the same distance among the others, differences
  // included.
  std::vector<Term> own;
  append_terms(tensor, own);
  const Wide bytes = static_cast<Wide>(size_of(tensor.type));
  for (std::size_t k = 0; k < own.size(); ++k) {
    std::vector<Term> terms;
    Wide shift = 0;
    for (std::size_t j = 0; j < own.size(); ++j) {
      if (j == k) continue;
      terms.push_back({own[j].stride, 2 * own[j].last});
      shift += own[j].stride * own[j].last;
    }
    // stride_k * d == sum of differences + bytes within an element, d >= 1
    terms.push_back({own[k].stride, own[k].last - 1});
    terms.push_back({1, 2 * (bytes - 1)});
    if (BoundedSum(std::move(terms)).may_reach(shift + bytes - 1 - own[k].stride)) return true;
  }
  return false;
}

}  // namespace papillon::detail
