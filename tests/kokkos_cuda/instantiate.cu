// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a user of a CUDA-enabled Kokkos compiles: kept to objects, since no such Kokkos is linked here.
#include "papillon/papillon.hpp"

namespace {

using Device = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
using DeviceHalf = Kokkos::View<const papillon::half***, Kokkos::LayoutLeft, Kokkos::CudaSpace>;
using DeviceHalfOut = Kokkos::View<papillon::half***, Kokkos::LayoutStride, Kokkos::CudaSpace>;
using Managed = Kokkos::View<Kokkos::complex<double>*, Kokkos::CudaUVMSpace>;

}  // namespace

void transform(const Kokkos::Cuda& space, const Device& x, const DeviceHalf& h, const DeviceHalfOut& g,
               const Managed& z) {
  papillon::hadamard(space, x, x, {.norm = papillon::Normalization::ortho});
  papillon::hadamard(space, h, g, {.axis = 1, .ordering = papillon::Ordering::sequency});
  papillon::hadamard(space, z, z);
  static_cast<void>(papillon::hadamard_workspace_bytes(space, h, g, {.axis = 1}));
  static_cast<void>(papillon::selected_backend(space, x, x));
  const papillon::Factor factor = papillon::describe_factor(x);
  papillon::kronecker(space, std::span(&factor, 1), x, x, {.vectors = papillon::VectorSide::left});
  papillon::kronecker_factor_gradient(space, std::span(&factor, 1), 0, x, x, x);
  static_cast<void>(papillon::kronecker_gradient_workspace_bytes(
      space, std::span(&factor, 1), 0, papillon::describe_view(x), papillon::describe_view(x),
      papillon::describe_view(x)));
  const papillon::ButterflyFactor block{x.data(), papillon::ScalarType::float32, 1, 4, 4, 2};
  papillon::butterfly(space, std::span(&block, 1), x, x, {.adjoint = true});
  static_cast<void>(papillon::butterfly_workspace_bytes(
      space, std::span(&block, 1), papillon::describe_view(x), papillon::describe_view(x)));
  papillon::gemm(space, 1.0, x, x, 0.5, x, {.op_b = papillon::MatrixOperation::transpose});
  papillon::gemm(space, 1.0, h, h, 0.0, g, {.algorithm = papillon::GemmAlgorithm::strassen});
  static_cast<void>(papillon::gemm_workspace_bytes(
      space, 1.0, papillon::describe_view(x), papillon::describe_view(x), 0.0, papillon::describe_view(x)));
  static_cast<void>(papillon::explain_gemm(space, 1.0, papillon::describe_view(x), papillon::describe_view(x),
                                           0.0, papillon::describe_view(x)));
  const papillon::BlockScaledView q{};
  papillon::quantize(space, x, q, {.rotation = 16});
  papillon::quantize(space, h, q, q, 0, {.format = papillon::BlockFormat::mxfp8_e4m3});
  papillon::dequantize(space, papillon::ConstBlockScaledView{}, g, {.rotation = papillon::whole_axis});
  static_cast<void>(papillon::quantize_workspace_bytes(space, papillon::describe_view(x), q));
  const papillon::QuantizeOptions options;
  static_cast<void>(papillon::quantization_error(space, x, std::span(&options, 1)));
  static_assert(!papillon::generic::is_host_space<Kokkos::Cuda>);
#ifdef PAPILLON_HAS_CUDA
  static_assert(papillon::detail::may_use_cuda<Kokkos::Cuda>);
#else
  static_assert(!papillon::detail::may_use_cuda<Kokkos::Cuda>);
#endif
}
