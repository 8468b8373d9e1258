// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/slab_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "cli/progress_bar.hpp"

namespace papillon::cli {

namespace {

constexpr std::int64_t slab_bytes = std::int64_t{64} << 20;
constexpr std::int64_t least_piece_bytes = 4096;  // of a row that a slab of columns reads at once

template <class Byte>
std::span<Byte> part_of(std::span<Byte> bytes, std::int64_t offset, std::int64_t length) {
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

/// Where the rows of a slab lie in a file: `count` pieces of `bytes`, `stride` apart; one if they follow each
/// other.
struct Pieces {
  std::int64_t offset, count, bytes, stride;
};

Pieces pieces_of(const Slab& slab, std::int64_t length, std::int64_t inner, std::int64_t element_bytes) {
  const std::int64_t row_bytes = inner * element_bytes;
  const std::int64_t offset = slab.outer_begin * length * row_bytes + slab.inner_begin * element_bytes;
  const std::int64_t bytes = slab.inner_count * element_bytes;
  if (slab.inner_count == inner) return {offset, 1, slab.outer_count * length * bytes, 0};
  return {offset, length, bytes, row_bytes};  // of one outer index
}

}  // namespace

std::vector<Slab> plan_slabs(std::int64_t outer, std::int64_t n, std::int64_t inner,
                             std::int64_t element_bytes, std::int64_t target_bytes) {
  std::vector<Slab> slabs;
  if (outer == 0 || n == 0 || inner == 0) return slabs;
  const std::int64_t column_bytes = n * element_bytes;
  const std::int64_t outer_bytes = column_bytes * inner;

  std::int64_t rows = std::max<std::int64_t>(target_bytes / outer_bytes, 1);
  std::int64_t columns = inner;
  if (outer_bytes > target_bytes) {
    columns = std::max(target_bytes / column_bytes, least_piece_bytes / element_bytes);
    if (columns > inner / 2) columns = inner;  // not worth it
  }
  for (std::int64_t o = 0; o < outer; o += rows) {
    for (std::int64_t i = 0; i < inner; i += columns)
      slabs.push_back({o, std::min(rows, outer - o), i, std::min(columns, inner - i)});
  }
  return slabs;
}

void SlabStream::run(const Apply& apply) const {
  const std::vector<Slab> slabs = plan_slabs(outer, std::max(n, m), inner, element_bytes, slab_bytes);
  const auto bytes_of = [&](const Slab& slab, std::int64_t length) {
    return slab.outer_count * length * slab.inner_count * element_bytes;
  };
  const auto is_mapped = [&](const Slab& slab) {
    return slab.inner_count == inner && bytes_of(slab, std::max(n, m)) > slab_bytes;
  };
  const bool aligned = input_offset % element_bytes == 0;  // the mapping itself begins at a page
  std::int64_t most_source = 0, most_target = 0;
  for (const Slab& slab : slabs) {
    if (!in_place && (!is_mapped(slab) || !aligned)) most_source = std::max(most_source, bytes_of(slab, n));
    if (!is_mapped(slab)) most_target = std::max(most_target, bytes_of(slab, m));
  }
  std::vector<std::byte> source_buffer(static_cast<std::size_t>(most_source));
  std::vector<std::byte> target_buffer(static_cast<std::size_t>(most_target));

  ProgressBar bar(outer * inner);
  std::int64_t done = 0;
  for (const Slab& slab : slabs) {
    const bool mapped = is_mapped(slab);
    const Pieces from = pieces_of(slab, n, inner, element_bytes);
    const Pieces to = pieces_of(slab, m, inner, element_bytes);
    const std::span<std::byte> target = mapped ? part_of(output.bytes(), output_offset + to.offset, to.bytes)
                                               : part_of(std::span(target_buffer), 0, bytes_of(slab, m));
    const void* source = nullptr;
    if (mapped && aligned && !in_place) {
      source = part_of(input.bytes(), input_offset + from.offset, from.bytes).data();
    } else {
      const std::span<std::byte> copy =
          in_place ? target : part_of(std::span(source_buffer), 0, bytes_of(slab, n));
      for (std::int64_t j = 0; j < from.count; ++j)
        input.read(input_offset + from.offset + j * from.stride, part_of(copy, j * from.bytes, from.bytes));
      source = copy.data();
    }
    apply(source, target.data(), slab);
    if (!mapped) {
      for (std::int64_t j = 0; j < to.count; ++j)
        output.write(output_offset + to.offset + j * to.stride, part_of(target, j * to.bytes, to.bytes));
    }
    if (to.count == 1) output.flush(output_offset + to.offset, to.bytes);
    done += slab.outer_count * slab.inner_count;
    bar.update(done);
  }
}

}  // namespace papillon::cli
