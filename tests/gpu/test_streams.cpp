// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "cuda/api.hpp"
#include "gpu_case.hpp"
#include "papillon/cuda.hpp"
#include "papillon/hadamard.hpp"

using namespace papillon;
using namespace papillon::test;

namespace {

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

std::vector<float> host_result(std::vector<float> x, std::int64_t rows, std::int64_t n) {
  hadamard(Kokkos::DefaultHostExecutionSpace{}, ConstTensorDescriptor(row_major(x.data(), {rows, n})),
           row_major(x.data(), {rows, n}));
  return x;
}

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  const auto bytes = make_data(ScalarType::float32, count, Fill::normal, seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("a captured graph gives the same bits at every replay") {
  // 92 has a base matrix that goes through device memory, first used here or not; 2^18 allocates nothing.
  for (const std::int64_t n : {8, 128, 2048, 4096, 32768, 92 * 4, 262144}) {
    const std::int64_t rows = 37;
    const Stream stream;
    const auto count = static_cast<std::size_t>(rows * n);
    const DeviceBuffer x(count * 4);
    const DeviceBuffer y(count * 4);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    require_cuda(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal));
    hadamard(stream.stream, ConstTensorDescriptor(row_major(x.as<float>(), {rows, n})),
             row_major(y.as<float>(), {rows, n}));
    require_cuda(cudaStreamEndCapture(stream.stream, &graph));
    require_cuda(cudaGraphInstantiate(&runnable, graph, 0));
    for (std::uint64_t replay = 0; replay < 3; ++replay) {
      const std::vector<float> values = random_floats(rows * n, replay);
      std::vector<float> actual(count);
      require_cuda(cudaMemcpyAsync(x.as(), values.data(), count * 4, cudaMemcpyHostToDevice, stream.stream));
      require_cuda(cudaGraphLaunch(runnable, stream.stream));
      require_cuda(cudaMemcpyAsync(actual.data(), y.as(), count * 4, cudaMemcpyDeviceToHost, stream.stream));
      require_cuda(cudaStreamSynchronize(stream.stream));
      CHECK(actual == host_result(values, rows, n));
    }
    require_cuda(cudaGraphExecDestroy(runnable));
    require_cuda(cudaGraphDestroy(graph));
  }
}

TEST_CASE("several host threads, each on a stream of its own") {
  constexpr std::int64_t rows = 300;
  std::vector<int> right(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t) {
    const std::int64_t n = std::int64_t{64} << t % 5 * 2;
    const std::vector<float> values = random_floats(rows * n, t);
    threads.emplace_back([&right, t, n, values, expected = host_result(values, rows, n)] {
      const Stream stream;
      const std::size_t bytes = values.size() * 4;
      const DeviceBuffer x(bytes);
      std::vector<float> actual(values.size());
      bool all = true;
      for (int round = 0; round < 20; ++round) {
        require_cuda(cudaMemcpyAsync(x.as(), values.data(), bytes, cudaMemcpyHostToDevice, stream.stream));
        hadamard(stream.stream, ConstTensorDescriptor(row_major(x.as<float>(), {rows, n})),
                 row_major(x.as<float>(), {rows, n}));
        require_cuda(cudaMemcpyAsync(actual.data(), x.as(), bytes, cudaMemcpyDeviceToHost, stream.stream));
        require_cuda(cudaStreamSynchronize(stream.stream));
        all = all && actual == expected;
      }
      right[t] = all ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(right.size(), 1));
}

TEST_CASE("work waits for the stream it is given") {
  const Stream stream;
  constexpr std::int64_t rows = 4096;
  constexpr std::int64_t n = 8192;
  const DeviceBuffer x(rows * n * 4);
  const std::vector<float> values = random_floats(rows * n, 5);
  std::vector<float> actual(values.size());
  require_cuda(cudaMemsetAsync(x.as(), 255, rows * n * 4, stream.stream));
  require_cuda(
      cudaMemcpyAsync(x.as(), values.data(), values.size() * 4, cudaMemcpyHostToDevice, stream.stream));
  hadamard(stream.stream, ConstTensorDescriptor(row_major(x.as<float>(), {rows, n})),
           row_major(x.as<float>(), {rows, n}));
  require_cuda(
      cudaMemcpyAsync(actual.data(), x.as(), values.size() * 4, cudaMemcpyDeviceToHost, stream.stream));
  require_cuda(cudaStreamSynchronize(stream.stream));
  CHECK(actual == host_result(values, rows, n));
}

TEST_CASE("host pointers, misaligned pointers and short workspaces are refused by name") {
  std::vector<float> host(64);
  const DeviceBuffer device(1 << 21);
  const auto on_device = row_major(device.as<float>(), {4, 16});
  CHECK_THROWS_WITH_AS(
      hadamard(cudaStream_t{}, ConstTensorDescriptor(row_major(host.data(), {4, 16})), on_device),
      doctest::Contains("x at"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      hadamard(cudaStream_t{}, ConstTensorDescriptor(on_device), row_major(host.data(), {4, 16})),
      doctest::Contains("y at"), std::invalid_argument);
  const std::vector<std::int8_t> signs(16, 1);
  HadamardOptions options;
  options.signs.values = signs;
  CHECK_THROWS_WITH_AS(hadamard(cudaStream_t{}, ConstTensorDescriptor(on_device), on_device, options),
                       doctest::Contains("signs at"), std::invalid_argument);
  TensorDescriptor odd = on_device;
  odd.data = device.as<char>() + 2;
  CHECK_THROWS_WITH_AS(hadamard(cudaStream_t{}, ConstTensorDescriptor(odd), odd),
                       doctest::Contains("not aligned"), std::invalid_argument);
  const auto wide = row_major(device.as<half>(), {1, 1 << 20});
  HadamardOptions short_workspace;
  short_workspace.workspace = {device.as(), 1000};
  CHECK(hadamard_workspace_bytes(cudaStream_t{}, ConstTensorDescriptor(wide), wide) == std::size_t{4} << 20);
  CHECK_THROWS_WITH_AS(hadamard(cudaStream_t{}, ConstTensorDescriptor(wide), wide, short_workspace),
                       doctest::Contains("workspace has 1000 bytes"), std::invalid_argument);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("arrays in host memory are carried to the GPU and back") {
  std::vector<float> values = random_floats(3 * 640, 9);
  const std::vector<float> expected = host_result(values, 3, 640);
  std::vector<float> result(values.size());
  cuda::hadamard_on_host_arrays(ConstTensorDescriptor(row_major(values.data(), {3, 640})),
                                row_major(result.data(), {3, 640}), {});
  CHECK(result == expected);
  cuda::hadamard_on_host_arrays(ConstTensorDescriptor(row_major(values.data(), {3, 640})),
                                row_major(values.data(), {3, 640}), {});
  CHECK(values == expected);
}

TEST_CASE("more than 2^32 elements, and more than 2^31 rows" * doctest::test_suite("large")) {
  // One block of random data, repeated; the result is the transformed block, repeated.
  constexpr std::int64_t block = std::int64_t{1} << 25;
  constexpr std::int64_t count = (std::int64_t{1} << 32) + block;
  const DeviceBuffer x(count * 2);
  std::vector<unsigned char> actual(block * 2);
  for (const std::int64_t n : {2, 128, 2048, 32768, 1 << 18, 1 << 20}) {
    auto values = make_data(ScalarType::bfloat16, block, Fill::normal, 3);
    for (std::int64_t b = 0; b < count; b += block)
      require_cuda(cudaMemcpy(x.as<char>() + b * 2, values.data(), block * 2, cudaMemcpyHostToDevice));
    auto* host = reinterpret_cast<bfloat16*>(values.data());
    hadamard(Kokkos::DefaultHostExecutionSpace{}, ConstTensorDescriptor(row_major(host, {block / n, n})),
             row_major(host, {block / n, n}));
    const auto all = row_major(x.as<bfloat16>(), {count / n, n});
    hadamard(cudaStream_t{}, ConstTensorDescriptor(all), all);
    for (std::int64_t b = 0; b < count; b += block) {
      require_cuda(cudaMemcpy(actual.data(), x.as<char>() + b * 2, block * 2, cudaMemcpyDeviceToHost));
      REQUIRE(std::memcmp(actual.data(), values.data(), block * 2) == 0);
    }
  }
}
