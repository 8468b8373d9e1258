// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include "cli/atomic_file.hpp"
#include "cli/mapped_file.hpp"
#include "cli/npy.hpp"
#include "papillon/core/scalar.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon::cli {

/// A dense array around the transformed axes: element (o, j, i) lies at (o·n + j)·inner + i, j being the
/// index of a block: of all indices from the slowest transformed one to the fastest.
struct FoldedShape {
  std::int64_t outer = 1;
  std::int64_t n = 1;  ///< elements of a block
  std::int64_t inner = 1;
  std::vector<std::int64_t> block;  ///< its extents, in the order of the file's shape
  std::vector<int> axes;            ///< the transformed ones of these, ascending
  bool fortran_order = false;       ///< whether the first index of a block varies fastest

  /// Points of a transform.
  std::int64_t points() const;
};

/// The array of an .npy file around `axes` (ascending, 0 <= axis < rank). With `group` g > 0, for one axis,
/// that is split into n/g groups, which become part of the outer index, and n is g.
FoldedShape fold_file(const NpyHeader& header, std::vector<int> axes, std::int64_t group);

/// Transforms the elements of `input` into `output`, slab by slab through a buffer of about 64 MiB, so that
/// files may be larger than memory. Only where the shape has no small slabs (an axis of very many elements
/// with few others inside it) is one outer index transformed in the mapping of the output instead. `options`
/// are checked ones whose axes and group are those of `shape`; all others of them are used. Kokkos is
/// initialised. With `on_gpu` every slab is transformed by the CUDA backend, to the same bits.
void transform_file(const MappedFile& input, std::int64_t input_offset, const AtomicFile& output,
                    std::int64_t output_offset, const FoldedShape& shape, ScalarType type,
                    const HadamardOptions& options, bool on_gpu);

}  // namespace papillon::cli
