// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/file_transform.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "cli/gpu.hpp"
#include "cli/progress_bar.hpp"
#include "papillon/hadamard.hpp"

namespace papillon::cli {

namespace {

constexpr std::int64_t slab_bytes = std::int64_t{64} << 20;
constexpr std::int64_t least_piece_bytes = 4096;  // of a row that a slab of columns reads at once

std::span<std::byte> part_of(std::span<std::byte> bytes, std::int64_t offset, std::int64_t length) {
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

/// A slab in memory: an index for the outer ones and one for the inner ones where there are any, then those
/// of the block.
TensorDescriptor slab_array(const FoldedShape& shape, const Slab& slab, void* data, ScalarType type) {
  TensorDescriptor array{data, type, 0, {}, {}};
  const auto add = [&](std::int64_t extent, std::int64_t stride) {
    array.extents[static_cast<std::size_t>(array.rank)] = extent;
    array.strides[static_cast<std::size_t>(array.rank)] = stride;
    ++array.rank;
  };
  if (shape.outer > 1) add(slab.outer_count, shape.n * slab.inner_count);
  if (shape.inner > 1) add(slab.inner_count, 1);
  const auto rank = static_cast<int>(shape.block.size());
  const int first = array.rank;
  for (const std::int64_t extent : shape.block) add(extent, 0);
  std::int64_t stride = slab.inner_count;
  for (int i = 0; i < rank; ++i) {
    const auto d = static_cast<std::size_t>(first + (shape.fortran_order ? i : rank - 1 - i));
    array.strides[d] = stride;
    stride *= array.extents[d];
  }
  return array;
}

}  // namespace

std::int64_t FoldedShape::points() const {
  std::int64_t count = 1;
  for (const int axis : axes) count *= block[static_cast<std::size_t>(axis)];
  return count;
}

FoldedShape fold_file(const NpyHeader& header, std::vector<int> axes, std::int64_t group) {
  FoldedShape folded;
  folded.fortran_order = header.fortran_order;
  const int first = axes.front();
  const int last = axes.back();
  for (int d = 0; d < static_cast<int>(header.shape.size()); ++d) {
    const std::int64_t extent = header.shape[static_cast<std::size_t>(d)];
    if (d >= first && d <= last) {
      folded.block.push_back(extent);
      folded.n *= extent;
    } else if ((d < first) != header.fortran_order) {
      folded.outer *= extent;
    } else {
      folded.inner *= extent;
    }
  }
  if (group > 0) {
    folded.outer *= folded.n / group;
    folded.n = group;
    folded.block.assign(1, group);
  }
  for (int& axis : axes) axis -= first;
  folded.axes = std::move(axes);
  return folded;
}

std::vector<Slab> plan_slabs(const FoldedShape& shape, std::int64_t element_bytes,
                             std::int64_t target_bytes) {
  std::vector<Slab> slabs;
  if (shape.outer == 0 || shape.n == 0 || shape.inner == 0) return slabs;
  const std::int64_t column_bytes = shape.n * element_bytes;
  const std::int64_t outer_bytes = column_bytes * shape.inner;

  std::int64_t rows = std::max<std::int64_t>(target_bytes / outer_bytes, 1);
  std::int64_t columns = shape.inner;
  if (outer_bytes > target_bytes) {
    columns = std::max(target_bytes / column_bytes, least_piece_bytes / element_bytes);
    if (columns > shape.inner / 2) columns = shape.inner;  // not worth it
  }
  for (std::int64_t outer = 0; outer < shape.outer; outer += rows) {
    for (std::int64_t inner = 0; inner < shape.inner; inner += columns) {
      slabs.push_back(
          {outer, std::min(rows, shape.outer - outer), inner, std::min(columns, shape.inner - inner)});
    }
  }
  return slabs;
}

void transform_file(const MappedFile& input, std::int64_t input_offset, const AtomicFile& output,
                    std::int64_t output_offset, const FoldedShape& shape, ScalarType type,
                    const HadamardOptions& options, bool on_gpu) {
  const Kokkos::DefaultHostExecutionSpace exec;
  const auto transform_in_place = [&](std::span<std::byte> bytes, const Slab& slab) {
    const TensorDescriptor array = slab_array(shape, slab, bytes.data(), type);
    HadamardOptions slab_options = options;
    slab_options.group = 0;
    slab_options.axis = -1;
    std::vector<int> axes = shape.axes;
    for (int& axis : axes) axis += array.rank - static_cast<int>(shape.block.size());
    slab_options.axes = Axes(std::span<const int>(axes));
    if (on_gpu) {
      hadamard_on_gpu(array, slab_options);
      return;
    }
    hadamard(exec, array, array, slab_options);
    exec.fence("papillon: slab of a file");
  };

  const auto element_bytes = static_cast<std::int64_t>(papillon::size_of(type));
  const std::int64_t row_bytes = shape.inner * element_bytes;
  const std::vector<Slab> slabs = plan_slabs(shape, element_bytes, slab_bytes);
  const auto bytes_of = [&](const Slab& slab) {
    return slab.outer_count * shape.n * slab.inner_count * element_bytes;
  };
  const auto in_mapping = [&](const Slab& slab) {
    return slab.inner_count == shape.inner && bytes_of(slab) > slab_bytes;
  };
  std::int64_t most = 0;
  for (const Slab& slab : slabs) most = std::max(most, in_mapping(slab) ? 0 : bytes_of(slab));
  std::vector<std::byte> buffer(static_cast<std::size_t>(most));

  ProgressBar bar(shape.outer * shape.inner);
  std::int64_t done = 0;
  for (const Slab& slab : slabs) {
    const std::int64_t begin = slab.outer_begin * shape.n * row_bytes;
    const std::int64_t length = bytes_of(slab);
    if (slab.inner_count == shape.inner) {  // contiguous
      const bool mapped = in_mapping(slab);
      const auto bytes =
          mapped ? part_of(output.bytes(), output_offset + begin, length) : part_of(buffer, 0, length);
      input.read(input_offset + begin, bytes);
      transform_in_place(bytes, slab);
      if (!mapped) output.write(output_offset + begin, bytes);
      output.flush(output_offset + begin, length);
    } else {
      const std::int64_t piece = slab.inner_count * element_bytes;
      const std::int64_t first = begin + slab.inner_begin * element_bytes;
      for (std::int64_t j = 0; j < shape.n; ++j) {
        input.read(input_offset + first + j * row_bytes, part_of(buffer, j * piece, piece));
      }
      transform_in_place(part_of(buffer, 0, length), slab);
      for (std::int64_t j = 0; j < shape.n; ++j) {
        output.write(output_offset + first + j * row_bytes, part_of(buffer, j * piece, piece));
      }
    }
    done += slab.outer_count * slab.inner_count;
    bar.update(done);
  }
}

}  // namespace papillon::cli
