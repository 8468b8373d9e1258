// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>

#include "cli/atomic_file.hpp"
#include "cli/quantized_tensor.hpp"
#include "cli/safetensors.hpp"
#include "cli/tensor_file.hpp"

namespace papillon::cli {

/// Called with the bytes of the unquantised tensor that have been worked on since the last call.
using Progress = std::function<void(std::int64_t bytes)>;

/// Quantises a tensor of `input` to where `layout` has its codes and scales in `output`, and says what was
/// counted. Kokkos is initialised.
///
/// Rows go through buffers of about 64 MiB (128 rows, where those are more), so that a tensor may be larger
/// than memory: twice where NVFP4's global scale is to be computed. Where rows are not independent or do not
/// follow each other in the file (another axis than the last, Fortran order, squares in more than two
/// dimensions, stochastic rounding, the rule of Transformer Engine) the tensor is quantised in one call, from
/// the mapped file, with codes and scales in memory.
QuantizeStatistics quantize_tensor(const TensorFile& input, const StoredTensor& x,
                                   const QuantizedTensor& quantized, const AtomicFile& output,
                                   const SafetensorsHeader& layout, const Progress& progress);

/// The other way: writes y, row-major, of type `type`, from `offset` on in the output. Rows as above, in one
/// call where the quantised axis is not the last.
void dequantize_tensor(const TensorFile& input, const QuantizedTensor& quantized, ScalarType type,
                       const AtomicFile& output, std::int64_t offset, const Progress& progress);

}  // namespace papillon::cli
