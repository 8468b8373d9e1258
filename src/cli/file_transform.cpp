// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/file_transform.hpp"

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <span>
#include <utility>

#include "cli/gpu.hpp"
#include "cli/slab_stream.hpp"
#include "papillon/hadamard.hpp"

namespace papillon::cli {

namespace {

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

void transform_file(const MappedFile& input, std::int64_t input_offset, const AtomicFile& output,
                    std::int64_t output_offset, const FoldedShape& shape, ScalarType type,
                    const HadamardOptions& options, bool on_gpu) {
  const Kokkos::DefaultHostExecutionSpace exec;
  const SlabStream stream{.input = input,
                          .input_offset = input_offset,
                          .output = output,
                          .output_offset = output_offset,
                          .outer = shape.outer,
                          .n = shape.n,
                          .m = shape.n,
                          .inner = shape.inner,
                          .element_bytes = static_cast<std::int64_t>(papillon::size_of(type)),
                          .in_place = true};
  stream.run([&](const void*, void* data, const Slab& slab) {
    const TensorDescriptor array = slab_array(shape, slab, data, type);
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
  });
}

}  // namespace papillon::cli
