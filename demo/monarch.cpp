// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear layer whose weights are a Monarch matrix (T. Dao and others, Monarch: expressive structured
// matrices for efficient and accurate training, 2022), beside the same layer as a dense matrix.
//
//   papillon-demo-monarch FOLDER [ACTIVATIONS.npy]
//
// The layer takes 1024 features to 1024 by two factors of 32 blocks 32 x 32: 65 536 weights, drawn from a
// fixed seed, for 1 048 576. The activations are those of the file (float32, batch x 1024), or drawn too. The
// program ends with status 1 unless every output is within the error bound of `butterfly` of a dense product
// in double precision. It writes the factors to FOLDER/monarch and the outputs to FOLDER/monarch_outputs.npy.

#include <Eigen/Core>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <papillon/papillon.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "write_npy.hpp"

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Batch = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t blocks = 32, features = blocks * blocks, weights = blocks * blocks * blocks;

std::vector<float> drawn(std::size_t count, float scale, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  // Uniform in (-1, 1) in whole steps of 2^-23, the same on every machine.
  for (float& value : values) value = scale * std::ldexp(static_cast<float>(random() >> 8) - 0x1p23f, -23);
  return values;
}

Batch read_activations(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  const auto header = papillon::cli::read_npy_header(std::as_bytes(std::span(bytes)), name);
  if (header.type != papillon::cli::NpyType::float32 || header.fortran_order || header.shape.size() != 2 ||
      header.shape[1] != features) {
    throw std::invalid_argument(name + ": " + describe(header) + " is not float32 of shape (batch, 1024)");
  }
  const Batch batch("activations", static_cast<std::size_t>(header.shape[0]), features);
  std::memcpy(batch.data(), bytes.data() + header.data_offset, batch.size() * sizeof(float));
  return batch;
}

/// The layer as a dense matrix in double precision; with `absolute` that of the weights' absolute values.
Rows<double> dense(std::vector<float> left, std::vector<float> right, bool absolute) {
  const auto wide = [&](const std::vector<float>& values) {
    std::vector<double> result(values.begin(), values.end());
    for (double& value : result) value = absolute ? std::abs(value) : value;
    return result;
  };
  const std::vector<double> l = wide(left), r = wide(right);
  const std::vector<double> entries =
      papillon::to_dense(papillon::monarch<double>({l, blocks, blocks, blocks}, {r, blocks, blocks, blocks}));
  return Eigen::Map<const Rows<double>>(entries.data(), features, features);
}

/// Shortest of several runs, in milliseconds.
template <class Work>
double best_milliseconds(const Work& work) {
  double best = 1e300;
  for (int run = 0; run < 6; ++run) {
    const Kokkos::Timer timer;
    work();
    if (run > 0) best = std::min(best, timer.seconds() * 1e3);
  }
  return best;
}

int run(const std::string& folder, const Batch& x) {
  const std::vector<float> left = drawn(weights, std::sqrt(3.0f / blocks), 1);
  const std::vector<float> right = drawn(weights, std::sqrt(3.0f / blocks), 2);
  const Batch y("outputs", x.extent(0), features);
  const Space space;
  // [monarch]
  // left: 32 blocks, each over every 32nd feature; right: 32 blocks along the diagonal.
  const auto layer =
      papillon::monarch<float>({left, blocks, blocks, blocks}, {right, blocks, blocks, blocks});
  papillon::butterfly(space, layer.view(), x, y);  // y = left · right · x for every row x
  // [monarch]
  space.fence();

  const auto rows = static_cast<Eigen::Index>(x.extent(0));
  const Eigen::Map<const Rows<float>> input(x.data(), rows, features), output(y.data(), rows, features);
  const Rows<double> matrix = dense(left, right, false), sizes = dense(left, right, true);
  const Rows<double> expected = input.cast<double>() * matrix.transpose();
  const Rows<double> scale = input.cast<double>().cwiseAbs() * sizes.transpose();
  const Rows<double> error = (output.cast<double>() - expected).cwiseAbs();
  const double t = 2 * blocks + 2, gamma = t * 0x1p-24 / (1 - t * 0x1p-24);
  // 1 % for the rounding of the dense product in double.
  const bool right_everywhere = (error.array() <= 1.01 * gamma * scale.array()).all();
  std::printf("%td activations of %td features, %d threads\n", static_cast<std::ptrdiff_t>(rows),
              static_cast<std::ptrdiff_t>(features), space.concurrency());
  std::printf("  relative error of the outputs against the dense product in double: %.1e (%s the bound)\n",
              error.norm() / expected.norm(), right_everywhere ? "within" : "BEYOND");
  std::printf("  weights: %td for %td in the dense matrix, a %td-th\n",
              static_cast<std::ptrdiff_t>(2 * weights), static_cast<std::ptrdiff_t>(features * features),
              static_cast<std::ptrdiff_t>(features * features / (2 * weights)));

  const Rows<float> matrix32 = matrix.cast<float>();
  Rows<float> product(rows, features);
  const double structured = best_milliseconds([&] {
    papillon::butterfly(space, layer.view(), x, y);
    space.fence();
  });
  const double full = best_milliseconds([&] { product.noalias() = input * matrix32.transpose(); });
  std::printf("  time: %.2f ms, the dense product with Eigen %.2f ms: %.1f times as fast\n", structured, full,
              full / structured);

  std::filesystem::create_directories(folder + "/monarch");
  using Factor = Kokkos::View<const float****, Kokkos::LayoutRight, Kokkos::HostSpace>;
  // As `papillon butterfly` takes them: (a, b, c, d), the block of the left factor being its last index.
  const Kokkos::View<float****, Kokkos::LayoutRight, Kokkos::HostSpace> turned("left", 1, blocks, blocks,
                                                                               blocks);
  for (std::int64_t j = 0; j < blocks; ++j)
    for (std::int64_t p = 0; p < blocks; ++p)
      for (std::int64_t q = 0; q < blocks; ++q)
        turned(0, p, q, j) = left[static_cast<std::size_t>((j * blocks + p) * blocks + q)];
  write_npy(folder + "/monarch/F1.npy", turned);
  write_npy(folder + "/monarch/F2.npy", Factor(right.data(), blocks, blocks, blocks, 1));
  write_npy(folder + "/monarch_outputs.npy", y);
  return right_everywhere ? 0 : 1;
}

Batch drawn_activations() {
  const Batch x("activations", 2048, features);
  const std::vector<float> values = drawn(x.size(), 1, 3);
  std::copy(values.begin(), values.end(), x.data());
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER [ACTIVATIONS.npy]\n", argv[0]);
    return 2;
  }
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  try {
    return run(argv[1], argc == 3 ? read_activations(argv[2]) : drawn_activations());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "papillon-demo-monarch: %s\n", error.what());
    return 1;
  }
}
