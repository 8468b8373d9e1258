// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "papillon/core/macros.hpp"
#include "papillon/workspace.hpp"

namespace papillon {

/// The factor in front of H_n. `scale` multiplies on top.
enum class Normalization {
  none,     ///< H_n itself: entries ±1
  ortho,    ///< H_n / sqrt(n): orthogonal
  inverse,  ///< H_n / n; transposed (or for powers of two) the inverse of `none`
};

/// The order of the outputs. `sequency` and `dyadic` exist for powers of two only.
enum class Ordering {
  natural,   ///< Hadamard (Kronecker) order: H[i,j] = (-1)^popcount(i & j) for powers of two
  sequency,  ///< Walsh order: row s changes sign s times
  dyadic,    ///< Paley order: row p is natural row bitreverse(p)
};

/// How the sums are formed.
enum class Algorithm {
  automatic,  ///< `butterfly`
  butterfly,  ///< add and subtract, lowest index bit first: the same bits on every backend
};

/// Axes to transform together, in any order; negative ones count from the last. Converts from a list, so that
/// `{.axes = {0, 2}}` works. Throws std::invalid_argument for more than eight.
class Axes {
 public:
  constexpr Axes() = default;
  constexpr Axes(std::initializer_list<int> axes) : Axes(std::span<const int>(axes.begin(), axes.size())) {}
  constexpr Axes(std::span<const int> axes) {
    if (axes.size() > values_.size()) {
      throw std::invalid_argument("papillon::hadamard: axes has " + std::to_string(axes.size()) +
                                  " entries; arrays have at most 8 axes");
    }
    for (const int axis : axes) values_[size_++] = axis;
  }

  constexpr std::span<const int> values() const { return {values_.data(), size_}; }
  constexpr bool empty() const { return size_ == 0; }

 private:
  std::array<int, 8> values_{};
  std::size_t size_ = 0;
};

/// What a transform of several passes keeps between them. Of use for 16-bit scalars alone: all others keep
/// their own type, without loss.
enum class Intermediate {
  compute,  ///< the type that sums are formed in, in a workspace: one rounding, at the end
  storage,  ///< the array's own type, in y: less memory to move and mostly no workspace, but more roundings
};

/// Where a sign vector is applied: y = H (s ∘ x) or y = s ∘ (H x). The second with `Normalization::ortho`
/// undoes the first for the symmetric H_n of a power of two.
enum class SignSide { input, output };

/// A diagonal of ±1 beside the transform. Either `values`, one per point of the transform (the group's length
/// when `group` is set; with several axes one per index tuple, the last axis varying fastest) and readable
/// where the operator runs; or a `seed`, which draws sign number i from bit
/// i mod 64 of SplitMix64 stream number floor(i / 64) (see `random_sign`), so that no vector is stored.
struct Signs {
  std::span<const std::int8_t> values = {};
  std::optional<std::uint64_t> seed = {};
  SignSide side = SignSide::input;
};

/// What to apply: factor · out ∘ (H (in ∘ x)). The factor is `scale`, over n or √n as `norm` says, in double
/// precision, rounded once to the type that sums are formed in; it multiplies each sum, after which the
/// result is rounded once to the array's type.
struct HadamardOptions {
  Normalization norm = Normalization::none;
  double scale = 1.0;  ///< finite; an integer for integer scalars
  int axis = -1;       ///< -rank … rank-1; negative counts from the last
  Axes axes = {};      ///< several axes at once, instead of `axis`
  Ordering ordering = Ordering::natural;
  Signs signs = {};
  std::int64_t group = 0;  ///< g > 0: I_{n/g} ⊗ H_g, g must divide n; 0: the whole axis
  bool transpose =
      false;  ///< H_nᵀ instead of H_n: with `Normalization::inverse` always the inverse of `none`
  Algorithm algorithm = Algorithm::automatic;
  Intermediate intermediate = Intermediate::compute;
  Workspace workspace = {};
};

constexpr std::string_view name_of(Intermediate intermediate) {
  return intermediate == Intermediate::compute ? "compute" : "storage";
}

constexpr std::string_view name_of(Normalization norm) {
  switch (norm) {
    case Normalization::none:
      return "none";
    case Normalization::ortho:
      return "ortho";
    case Normalization::inverse:
      return "inverse";
  }
  return "unknown";
}

constexpr std::string_view name_of(Ordering ordering) {
  switch (ordering) {
    case Ordering::natural:
      return "natural";
    case Ordering::sequency:
      return "sequency";
    case Ordering::dyadic:
      return "dyadic";
  }
  return "unknown";
}

/// Signs 64 * index … 64 * index + 63 of the stream `seed`, least significant bit first, a set bit being -1:
/// SplitMix64's output number `index` (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// OOPSLA 2014).
PAPILLON_FUNCTION constexpr std::uint64_t random_sign_word(std::uint64_t seed, std::int64_t index) {
  std::uint64_t z = seed + (static_cast<std::uint64_t>(index) + 1u) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// True when the sign number `index` >= 0 of the stream `seed` is -1.
PAPILLON_FUNCTION constexpr bool random_sign_is_negative(std::uint64_t seed, std::int64_t index) {
  return ((random_sign_word(seed, index / 64) >> (static_cast<std::uint64_t>(index) % 64u)) & 1u) != 0u;
}

/// Sign number `index` of the stream `seed`: +1 or -1.
PAPILLON_FUNCTION constexpr int random_sign(std::uint64_t seed, std::int64_t index) {
  return random_sign_is_negative(seed, index) ? -1 : 1;
}

}  // namespace papillon
