// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/safetensors.hpp"
#include "cli/tensor_file.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon::cli {

/// What a safetensors file holds for a quantised tensor NAME: codes as `NAME` (U8, the shape of x with the
/// quantised axis last and in bytes), scales as `NAME_scale` (F8_E4M3, F8_E8M0 or F32; with the swizzled
/// layout a matrix of the padded extents), for NVFP4 the scale of the tensor as `NAME_scale_2` (F32, no
/// axes). These are the names of NVIDIA's Model Optimizer. The rest is in the file's metadata.
struct QuantizedTensor {
  std::string name;
  ScalarType type = ScalarType::float32;  ///< of x
  std::vector<std::int64_t> shape;        ///< of x
  QuantizeOptions options;                ///< axis from 0 on, a rotation of the whole axis as its length

  QuantizedLayout layout() const { return quantized_layout(shape, options); }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }

  std::string scales_name() const { return name + "_scale"; }
  std::string global_scale_name() const { return name + "_scale_2"; }

  /// The tensors of the file: codes, scales and, for NVFP4, the global scale.
  std::vector<SafetensorsTensor> stored() const;
};

/// Describes x quantised with the options, and checks all of them. Throws std::invalid_argument naming the
/// file, the tensor and the argument.
QuantizedTensor describe_quantized(const TensorFile& file, const StoredTensor& x,
                                   const QuantizeOptions& options);

/// The quantised tensors that a file's metadata tells of, by name; none if it does not. Checks each against
/// the tensors that are there. Throws std::invalid_argument naming the file and the tensor.
std::map<std::string, QuantizedTensor> read_quantized(const TensorFile& file);

/// Writes what `read_quantized` reads into metadata, or removes it where there are no quantised tensors.
void write_quantized(const std::map<std::string, QuantizedTensor>& tensors,
                     std::map<std::string, std::string>& metadata);

}  // namespace papillon::cli
