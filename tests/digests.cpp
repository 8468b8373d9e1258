// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints a digest of the results of a fixed set of calls, and how many threads made them;
// compare_threads.cmake runs it with several thread counts.
#include <Kokkos_Core.hpp>
#include <array>
#include <complex>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

#include "papillon/butterfly.hpp"
#include "papillon/butterfly_factors.hpp"
#include "papillon/gemm.hpp"
#include "papillon/hadamard.hpp"
#include "papillon/kronecker.hpp"
#include "papillon/kronecker_gradient.hpp"
#include "papillon/quantize.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"

namespace {

using namespace papillon_test;

/// FNV-1a over the bytes.
std::uint64_t digest(const void* data, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  return hash;
}

template <class T>
void print(const char* name) {
  const struct {
    std::int64_t outer, n, inner;
    papillon::Ordering ordering;
  } cases[] = {{1, 1 << 20, 1, papillon::Ordering::natural},  {257, 512, 1, papillon::Ordering::natural},
               {3, 1 << 15, 5, papillon::Ordering::natural},  {1, 28672, 1, papillon::Ordering::natural},
               {5, 96, 1001, papillon::Ordering::natural},    {1, 1 << 18, 1, papillon::Ordering::sequency},
               {2, 1 << 12, 77, papillon::Ordering::dyadic},  {4099, 16, 1, papillon::Ordering::natural},
               {1, 12 << 15, 1, papillon::Ordering::natural}, {1, 684, 333, papillon::Ordering::natural}};
  const Kokkos::DefaultHostExecutionSpace space;
  for (const auto& c : cases) {
    const auto x = random_values<T>(static_cast<std::size_t>(c.outer * c.n * c.inner), 41u, Data::scaled);
    std::vector<T> y(x.size());
    papillon::HadamardOptions options{.scale = 3, .axis = 1, .ordering = c.ordering, .signs = {.seed = 8u}};
    if (!std::is_integral_v<T>) options.norm = papillon::Normalization::ortho;
    papillon::hadamard(space, papillon::row_major(x.data(), {c.outer, c.n, c.inner}),
                       papillon::row_major(y.data(), {c.outer, c.n, c.inner}), options);
    space.fence();
    std::cout << name << " (" << c.outer << ", " << c.n << ", " << c.inner << ") " << std::hex
              << digest(y.data(), y.size() * sizeof(T)) << std::dec << '\n';
  }
}

/// The gradient with respect to the one in the middle of three factors.
template <class T>
void print_gradient(const char* name) {
  constexpr std::int64_t columns = 301, factor = 24, n = factor * factor * factor;
  const auto x = random_values<T>(columns * n, 1u), dy = random_values<T>(columns * n, 3u);
  const auto f = random_values<T>(3 * factor * factor, 2u);
  std::vector<T> gradient(factor * factor);
  std::vector<papillon::Factor> factors;
  for (std::int64_t i = 0; i < 3; ++i)
    factors.push_back(papillon::row_major_factor(f.data() + i * factor * factor, factor, factor));
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::kronecker_factor_gradient(
      space, factors, 1, papillon::ConstTensorDescriptor(papillon::row_major(x.data(), {columns, n})),
      papillon::ConstTensorDescriptor(papillon::row_major(dy.data(), {columns, n})),
      papillon::row_major(gradient.data(), {factor, factor}));
  space.fence();
  std::cout << "gradient " << name << " " << std::hex << digest(gradient.data(), gradient.size() * sizeof(T))
            << std::dec << '\n';
}

/// Fourteen stages with values of their own, in several passes, along rows and columns.
template <class T>
void print_butterfly(const char* name) {
  const auto factors = papillon::random_orthogonal<T>(1 << 14, 3);
  const Kokkos::DefaultHostExecutionSpace space;
  for (const auto& [outer, inner] : {std::pair<std::int64_t, std::int64_t>{37, 1}, {1, 1}, {3, 21}}) {
    const auto x = random_values<T>(static_cast<std::size_t>((outer << 14) * inner), 43u, Data::scaled);
    std::vector<T> y(x.size());
    papillon::butterfly(space, factors.view(), papillon::row_major(x.data(), {outer, 1 << 14, inner}),
                        papillon::row_major(y.data(), {outer, 1 << 14, inner}), {.scale = 3, .axis = 1});
    space.fence();
    std::cout << "butterfly " << name << " (" << outer << ", " << inner << ") " << std::hex
              << digest(y.data(), y.size() * sizeof(T)) << std::dec << '\n';
  }
}

/// Products that take one pass and several, with lines in lanes and in rows.
template <class T>
void print_products(const char* name) {
  const struct {
    std::int64_t outer, inner;
    std::vector<std::int64_t> extents;
  } cases[] = {{700, 1, std::vector<std::int64_t>(10, 2)},
               {17, 1, {8, 8, 8, 8}},
               {5, 3, {41, 40, 43}},
               {1, 77, {16, 16, 16}},
               {9, 1, {128, 128}},
               {2, 1, {64, 64, 64}}};
  const Kokkos::DefaultHostExecutionSpace space;
  for (const auto& c : cases) {
    std::int64_t n = 1;
    std::vector<std::vector<T>> entries;
    std::vector<papillon::Factor> factors;
    for (const std::int64_t extent : c.extents) {
      n *= extent;
      entries.push_back(random_values<T>(static_cast<std::size_t>(extent * extent), 5u + entries.size()));
      factors.push_back(papillon::row_major_factor(entries.back().data(), extent, extent));
    }
    const auto x = random_values<T>(static_cast<std::size_t>(c.outer * n * c.inner), 43u);
    std::vector<T> y(x.size());
    papillon::kronecker(space, factors, papillon::row_major(x.data(), {c.outer, n, c.inner}),
                        papillon::row_major(y.data(), {c.outer, n, c.inner}), {.scale = 0.5, .axis = 1});
    space.fence();
    std::cout << "kronecker " << name << " (" << c.outer << ", " << n << ", " << c.inner << ") " << std::hex
              << digest(y.data(), y.size() * sizeof(T)) << std::dec << '\n';
  }
}

/// Matrix products: large, skinny and batched, classical and by levels.
template <class T>
void print_gemm(const char* name) {
  using papillon::GemmAlgorithm;
  const struct {
    std::int64_t batch, m, n, k;
    GemmAlgorithm algorithm;
    int levels;
  } cases[] = {
      {1, 257, 311, 700, GemmAlgorithm::classical, -1}, {1, 3, 4001, 130, GemmAlgorithm::automatic, -1},
      {1, 4001, 3, 130, GemmAlgorithm::classical, -1},  {2000, 9, 8, 17, GemmAlgorithm::classical, -1},
      {1, 7, 5, 30011, GemmAlgorithm::classical, -1},   {1, 301, 203, 411, GemmAlgorithm::strassen, 2},
      {2, 301, 203, 111, GemmAlgorithm::winograd, 3},   {64, 45, 46, 47, GemmAlgorithm::strassen, 1}};
  const Kokkos::DefaultHostExecutionSpace space;
  for (const auto& c : cases) {
    const auto a = random_values<T>(static_cast<std::size_t>(c.batch * c.m * c.k), 51u);
    const auto b = random_values<T>(static_cast<std::size_t>(c.batch * c.k * c.n), 52u);
    auto result = random_values<T>(static_cast<std::size_t>(c.batch * c.m * c.n), 53u);
    papillon::GemmOptions options;
    options.algorithm = c.algorithm;
    options.max_levels = c.levels;
    papillon::gemm(space, 0.75, papillon::row_major(a.data(), {c.batch, c.m, c.k}),
                   papillon::row_major(b.data(), {c.batch, c.k, c.n}), -0.5,
                   papillon::row_major(result.data(), {c.batch, c.m, c.n}), options);
    space.fence();
    std::cout << "gemm " << name << " (" << c.batch << ", " << c.m << ", " << c.n << ", " << c.k << ") "
              << std::hex << digest(result.data(), result.size() * sizeof(T)) << std::dec << '\n';
  }
}

/// Codes, scales, amax and counts: of many rows, of one, of columns, with every kind of rotation and
/// rounding.
template <class T>
void print_quantized(const char* name) {
  using papillon::BlockFormat;
  const struct {
    std::array<std::int64_t, 3> shape;
    papillon::QuantizeOptions options;
  } cases[] = {
      {{1, 1031, 528}, {.scale_layout = papillon::ScaleLayout::swizzled, .rotation = 16}},
      {{7, 129, 96}, {.axis = 0, .block_shape = papillon::BlockShape::square}},
      {{5, 256, 77}, {.format = BlockFormat::mxfp4, .axis = 1, .rotation = 256, .signs = {.seed = 3u}}},
      {{1, 1, 1 << 18}, {.rotation = papillon::whole_axis, .rounding = papillon::Rounding::stochastic}},
      {{3, 50, 3584}, {.format = BlockFormat::int8, .rotation = papillon::whole_axis}},
      {{1, 2000, 100},
       {.format = BlockFormat::mxfp8_e4m3,
        .block_shape = papillon::BlockShape::square,
        .rounding = papillon::Rounding::stochastic,
        .random_seed = 5}},
      {{1, 600, 300}, {.format = BlockFormat::fp8_e5m2, .block = 50}}};
  const Kokkos::DefaultHostExecutionSpace space;
  for (auto c : cases) {
    const auto& [outer, rows, n] = c.shape;
    const auto x = random_values<T>(static_cast<std::size_t>(outer * rows * n), 47u, Data::scaled);
    const auto layout = papillon::quantized_layout(c.shape, c.options);
    std::vector<std::uint8_t> payload(layout.payload_bytes), scales(layout.scale_bytes);
    float global_scale = 0, amax = 0;
    papillon::QuantizeStatistics statistics;
    c.options.amax = &amax;
    c.options.statistics = &statistics;
    papillon::quantize(space,
                       papillon::ConstTensorDescriptor(papillon::row_major(x.data(), {outer, rows, n})),
                       {payload, scales, &global_scale}, c.options);
    std::vector<T> y(x.size());
    space.fence();
    papillon::dequantize(space, papillon::ConstBlockScaledView{payload, scales, &global_scale},
                         papillon::row_major(y.data(), {outer, rows, n}), c.options);
    space.fence();
    std::cout << "quantized " << name << " " << papillon::name_of(c.options.format) << " (" << outer << ", "
              << rows << ", " << n << ") " << std::hex << digest(payload.data(), payload.size()) << " "
              << digest(scales.data(), scales.size()) << " " << digest(&global_scale, sizeof global_scale)
              << " " << digest(&amax, sizeof amax) << " " << digest(&statistics, sizeof statistics) << " "
              << digest(y.data(), y.size() * sizeof(T)) << std::dec << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  std::cout << "threads " << Kokkos::DefaultHostExecutionSpace().concurrency() << '\n';
  print<float>("float32");
  print<double>("float64");
  print<papillon::half>("float16");
  print<papillon::bfloat16>("bfloat16");
  print<std::int32_t>("int32");
  print<std::int64_t>("int64");
  print<std::complex<float>>("complex64");
  print<std::complex<double>>("complex128");
  print_gradient<float>("float32");
  print_gradient<papillon::bfloat16>("bfloat16");
  print_gradient<std::complex<double>>("complex128");
  print_butterfly<float>("float32");
  print_butterfly<papillon::bfloat16>("bfloat16");
  print_butterfly<std::complex<double>>("complex128");
  print_products<float>("float32");
  print_products<double>("float64");
  print_products<papillon::half>("float16");
  print_products<papillon::bfloat16>("bfloat16");
  print_products<std::complex<float>>("complex64");
  print_products<std::complex<double>>("complex128");
  print_gemm<float>("float32");
  print_gemm<double>("float64");
  print_gemm<papillon::half>("float16");
  print_gemm<papillon::bfloat16>("bfloat16");
  print_gemm<std::complex<float>>("complex64");
  print_gemm<std::complex<double>>("complex128");
  print_quantized<float>("float32");
  print_quantized<double>("float64");
  print_quantized<papillon::half>("float16");
  print_quantized<papillon::bfloat16>("bfloat16");
}
