// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cli/atomic_file.hpp"
#include "cli/mapped_file.hpp"

namespace papillon::cli {

/// A part of the work: whole vectors along the axis, of the outer and inner indices given.
struct Slab {
  std::int64_t outer_begin = 0;
  std::int64_t outer_count = 0;
  std::int64_t inner_begin = 0;
  std::int64_t inner_count = 0;
};

/// Cuts an array (outer, n, inner) into slabs of about `target_bytes`, each index once, in the order of the
/// file. Where single outer indices are larger they are cut into columns, at least 4 KiB of each row wide.
std::vector<Slab> plan_slabs(std::int64_t outer, std::int64_t n, std::int64_t inner,
                             std::int64_t element_bytes, std::int64_t target_bytes);

/// Applies an operator to an array (outer, n, inner) in a file, which makes it (outer, m, inner) in another,
/// slab by slab through buffers of about 64 MiB, so that files may be larger than memory. Only where the
/// shape has no small slabs (an axis of very many elements with few others inside it) is one outer index
/// worked on in the mappings of the files instead.
struct SlabStream {
  const MappedFile& input;
  std::int64_t input_offset;  ///< of the first element, in bytes
  const AtomicFile& output;
  std::int64_t output_offset;
  std::int64_t outer;
  std::int64_t n;
  std::int64_t m;
  std::int64_t inner;
  std::int64_t element_bytes;
  bool in_place;  ///< n = m, and source and target of the operator are one array

  /// apply(source, target, slab) works on arrays (outer_count, n or m, inner_count), aligned to the element.
  using Apply = std::function<void(const void* source, void* target, const Slab& slab)>;
  void run(const Apply& apply) const;
};

}  // namespace papillon::cli
