// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products on the GPU against sums by definition: whole numbers, exact in any order, with ==, others
// within the bounds of the docstring.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gpu_case.hpp"
#include "papillon/cuda.hpp"
#include "support/gemm_case.hpp"
#include "support/gemm_tables.hpp"

namespace {

using namespace papillon_test;
using papillon::GemmAlgorithm;
using papillon::GemmBase;
using papillon::GemmOptions;
using papillon::MatrixOperation;
using papillon::ScalarType;
using papillon::test::DeviceBuffer;
using papillon::test::require_cuda;

/// Elements and results that kernels exist for.
template <class T, class O>
struct Scalars {
  using in = T;
  using out = O;
};
#define PAPILLON_GPU_PRODUCTS                                                              \
  Scalars<float, float>, Scalars<double, double>, Scalars<papillon::half, papillon::half>, \
      Scalars<papillon::half, float>, Scalars<papillon::bfloat16, papillon::bfloat16>,     \
      Scalars<papillon::bfloat16, float>

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

/// A guarded array and its copy on the device, whose first element lies `shift` elements behind a 256-byte
/// boundary.
template <class T>
class OnDevice {
 public:
  OnDevice(const Shape& shape, Memory memory, const std::vector<T>& values, std::int64_t shift)
      : host_(shape, memory, values), bytes_(host_.bytes()), device_(bytes_.size() + 512) {
    const std::size_t guard = sizeof(T) * static_cast<std::size_t>(Guarded<T>::guard);
    start_ = device_.as<char>() + (512 - guard % 256) % 256 + sizeof(T) * static_cast<std::size_t>(shift);
    require_cuda(cudaMemcpy(start_, bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice));
  }

  papillon::TensorDescriptor descriptor() const {
    papillon::TensorDescriptor result = host_.descriptor();
    result.data = start_ + sizeof(T) * static_cast<std::size_t>(Guarded<T>::guard);
    return result;
  }
  papillon::ConstTensorDescriptor const_descriptor() const { return descriptor(); }

  bool unchanged() const { return downloaded() == bytes_; }

  /// The elements now, in row-major order; also checks that nothing around them was written.
  std::vector<T> get() {
    const auto bytes = downloaded();
    auto* first = static_cast<T*>(host_.descriptor().data) - Guarded<T>::guard;
    std::memcpy(static_cast<void*>(first), bytes.data(), bytes.size());
    CHECK_MESSAGE(host_.surroundings_intact(), "something beside C was written");
    return host_.get();
  }

 private:
  std::vector<unsigned char> downloaded() const {
    std::vector<unsigned char> bytes(bytes_.size());
    require_cuda(cudaMemcpy(bytes.data(), start_, bytes.size(), cudaMemcpyDeviceToHost));
    return bytes;
  }

  Guarded<T> host_;
  std::vector<unsigned char> bytes_;
  DeviceBuffer device_;
  char* start_ = nullptr;
};

/// A workspace of NaN, 16 bytes off from a 256-byte boundary, with guards behind it.
class PoisonedWorkspace {
 public:
  explicit PoisonedWorkspace(std::size_t bytes) : bytes_(bytes), device_(bytes + 16 + guard) {
    require_cuda(cudaMemset(device_.as<>(), 0xff, bytes + 16 + guard));  // NaN in every format
  }
  papillon::Workspace get() const { return {device_.as<char>() + 16, bytes_}; }
  void check() const {
    std::vector<unsigned char> around(guard);
    require_cuda(cudaMemcpy(around.data(), device_.as<char>() + 16 + bytes_, guard, cudaMemcpyDeviceToHost));
    CHECK_MESSAGE(std::all_of(around.begin(), around.end(), [](unsigned char byte) { return byte == 0xff; }),
                  "something behind the workspace was written");
  }

 private:
  static constexpr std::size_t guard = 4096;
  std::size_t bytes_;
  DeviceBuffer device_;
};

/// C of two calls, whose bits must be the same: one with a workspace, one without.
template <class T, class O>
std::vector<O> run(const GemmCase<T, O>& problem, std::int64_t shift = 0) {
  INFO(problem.text(), " shift ", shift, " base ", static_cast<int>(problem.options.base));
  const OnDevice<T> a(problem.a_shape(), problem.a_memory, problem.a, shift);
  const OnDevice<T> b(problem.b_shape(), problem.b_memory, problem.b, shift);
  OnDevice<O> c(problem.c_shape(), problem.c_memory, problem.c, shift);
  OnDevice<O> again(problem.c_shape(), problem.c_memory, problem.c, shift);
  GemmOptions options = problem.call_options();
  const Stream stream;
  const auto call = [&](const OnDevice<O>& to) {
    papillon::gemm(stream.stream, problem.alpha, a.const_descriptor(), b.const_descriptor(), problem.beta,
                   to.descriptor(), options);
    require_cuda(cudaStreamSynchronize(stream.stream));
  };
  call(again);
  const std::size_t bytes =
      papillon::gemm_workspace_bytes(stream.stream, problem.alpha, a.const_descriptor(), b.const_descriptor(),
                                     problem.beta, c.descriptor(), options);
  CHECK(bytes <= options.max_workspace_bytes);
  const PoisonedWorkspace workspace(bytes);
  options.workspace = workspace.get();
  call(c);
  workspace.check();
  CHECK_MESSAGE(a.unchanged(), "A was written");
  CHECK_MESSAGE(b.unchanged(), "B was written");
  const auto result = c.get();
  CHECK_MESSAGE(first_difference(again.get(), result) == -1, "two runs differ");
  return result;
}

/// With levels the sums of 16-bit blocks are rounded to 16 bits.
template <class T, class O>
double bound_factor(const GemmCase<T, O>& problem) {
  const long double storage = storage_roundoff<T>();
  const long double u = product_roundoff<T>();
  return planned_error_factor(problem) * static_cast<double>(storage > 0 ? storage / u : 1);
}

/// Classical: whole numbers exactly, others within the bound of each element.
template <class T, class O>
void check_classical(GemmCase<T, O> problem, std::int64_t shift = 0) {
  problem.options.algorithm = GemmAlgorithm::classical;
  problem.draw(3, Data::integers);
  problem.check_exact(run(problem, shift));
  problem.draw(4);
  problem.alpha = problem.alpha == 0.0 ? 0.0 : 0.75;
  problem.check_classical(run(problem, shift));
}

/// By levels: whole numbers exactly.
template <class T, class O>
void check_levels(GemmCase<T, O> problem, std::int64_t shift = 0) {
  problem.draw(5, Data::integers);
  problem.check_exact(run(problem, shift));
}

template <class T, class O>
void check_orientations(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t shift = 0) {
  for (const MatrixOperation op_a : {MatrixOperation::none, MatrixOperation::transpose}) {
    for (const MatrixOperation op_b : {MatrixOperation::none, MatrixOperation::transpose}) {
      for (const Memory memory : {Memory::row_major, Memory::column_major, Memory::padded, Memory::strided}) {
        GemmCase<T, O> problem{{m, n, k, 1, false, false, op_a, op_b}};
        problem.c_memory = memory;
        problem.a_memory = memory == Memory::strided ? Memory::strided : Memory::row_major;
        problem.b_memory = memory == Memory::padded ? Memory::padded : Memory::row_major;
        problem.beta = memory == Memory::row_major ? 0.0 : -2.0;
        check_classical(problem, shift);
      }
    }
  }
}

template <class T, class O>
void check_random(unsigned seed, int rounds, int most) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    check_classical(random_gemm<T, O>(random, most), static_cast<std::int64_t>(random() % 4));
  }
}

/// Small sizes: the extents' last blocks are short, some blocks empty.
template <class T, class O>
void check_tables(int first, int step) {
  std::mt19937 random(7);
  for_each_algorithm([&](const GemmOptions& options) {
    for (int i = first; i <= 67; i += step) {
      auto problem = random_gemm<T, O>(random, 1);
      problem.shape.m = i;
      problem.shape.n = 1 + 29 * i % 67;
      problem.shape.k = 1 + 41 * i % 67;
      problem.options = options;
      check_levels(problem, i % 4);
    }
  });
}

/// Puts NaN and infinities into A and checks where C is not finite.
template <class T, class O>
void check_special(GemmCase<T, O> problem, bool exactly) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  problem.draw(9);
  problem.a[problem.a.size() / 3] = T(std::numeric_limits<float>::quiet_NaN());
  problem.a[problem.a.size() - 1] = T(inf);
  problem.a[0] = T(-inf);
  problem.b[0] = T(0.0F);
  const auto c = run(problem);
  Parts<long double> wanted =
      oracle_product(problem.shape, parts_of<long double>(problem.a), parts_of<long double>(problem.b));
  oracle_combine(wanted, problem.alpha, problem.beta, parts_of<long double>(problem.c));
  INFO(problem.text());
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double got = part_as<double>(c[i]), right = static_cast<double>(wanted.re[i]);
    CAPTURE(i);
    if (exactly) {
      CHECK(std::isnan(got) == std::isnan(right));
      CHECK(std::isinf(got) == std::isinf(right));
      if (std::isinf(right)) CHECK(got == right);
    } else if (!std::isfinite(right)) {
      CHECK_FALSE(std::isfinite(got));
      if (std::isnan(right)) CHECK(std::isnan(got));
    }
  }
}

}  // namespace

TEST_SUITE_BEGIN("reduced");

TEST_CASE_TEMPLATE("reduced set: gemm, everything at random", S, PAPILLON_GPU_PRODUCTS) {
  check_random<typename S::in, typename S::out>(1, 12, 70);
}

TEST_CASE_TEMPLATE("reduced set: gemm, tiles whole and ragged", S, PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  check_classical(GemmCase<T, O>{{128, 256, 64}});
  check_classical(GemmCase<T, O>{{129, 136, 72}});
  check_classical(GemmCase<T, O>{{1, 1, 1}});
  check_classical(GemmCase<T, O>{{3, 257, 130}}, 1);
}

TEST_CASE_TEMPLATE("reduced set: gemm, every table on whole numbers", S, PAPILLON_GPU_PRODUCTS) {
  check_tables<typename S::in, typename S::out>(13, 27);
}

TEST_SUITE_END();

TEST_CASE_TEMPLATE("gemm on the GPU: orientations, ragged extents, misaligned pointers", S,
                   PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  check_orientations<T, O>(128, 128, 64);
  check_orientations<T, O>(136, 264, 72);
  check_orientations<T, O>(133, 259, 67);
  check_orientations<T, O>(128, 128, 64, 1);
  check_orientations<T, O>(64, 192, 100, 3);
}

TEST_CASE_TEMPLATE("gemm on the GPU: everything at random", S, PAPILLON_GPU_PRODUCTS) {
  check_random<typename S::in, typename S::out>(2, 150, 50);
  check_random<typename S::in, typename S::out>(3, 30, 300);
}

TEST_CASE_TEMPLATE("gemm on the GPU: long sums in few tiles, thin matrices", S, PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 64, 8192},
                                {16, 8, 20000},
                                {1, 1, 30011},
                                {200, 120, 4104},
                                {1, 4096, 64},
                                {4096, 1, 65},
                                {8, 2048, 256},
                                {2048, 7, 33}}) {
    GemmCase<T, O> problem{{m, n, k}};
    problem.beta = 2.0;
    check_classical(problem);
    problem.c_memory = Memory::column_major;
    check_classical(problem);
  }
}

TEST_CASE_TEMPLATE("gemm on the GPU: batches", S, PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  for (const bool a_batched : {false, true}) {
    for (const bool b_batched : {false, true}) {
      GemmCase<T, O> problem{{40, 72, 48, 5, a_batched, b_batched}};
      problem.beta = -1.0;
      check_classical(problem);
      problem.options.algorithm = GemmAlgorithm::strassen;
      problem.options.max_levels = 2;
      check_levels(problem);
    }
  }
  check_classical(GemmCase<T, O>{{3, 5, 4, 70001, true, false}});
}

TEST_CASE_TEMPLATE("gemm on the GPU: every table on whole numbers, extents from 1 to 67", S,
                   PAPILLON_GPU_PRODUCTS) {
  check_tables<typename S::in, typename S::out>(1, 3);
}

TEST_CASE_TEMPLATE("gemm on the GPU: levels of larger products, in one round and in several", S,
                   PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{256, 256, 256}, {513, 300, 211}}) {
    for (const GemmAlgorithm algorithm : {GemmAlgorithm::strassen, GemmAlgorithm::winograd}) {
      for (int levels = 1; levels <= 2; ++levels) {
        GemmCase<T, O> problem{{m, n, k}};
        problem.options.algorithm = algorithm;
        problem.options.max_levels = levels;
        problem.beta = -1.0;
        check_levels(problem);
        problem.beta = 0.0;
        problem.draw(6);
        problem.check_normwise(run(problem), bound_factor(problem));
        problem.beta = 1.0;
        const Guarded<T> a(problem.a_shape()), b(problem.b_shape());
        const Guarded<O> c(problem.c_shape());
        const std::size_t whole = papillon::gemm_workspace_bytes(
            cudaStream_t{}, problem.alpha, a.const_descriptor(), b.const_descriptor(), problem.beta,
            c.descriptor(), problem.options);
        // Room for one, two and some products more than that.
        const std::size_t each = whole / (levels == 1 ? 7 : 49);
        for (const std::size_t products : {1, 2, 5}) {
          problem.options.max_workspace_bytes = products * each + each / 2;
          check_levels(problem);
        }
        problem.options.max_workspace_bytes = std::numeric_limits<std::size_t>::max();
      }
    }
  }
}

TEST_CASE_TEMPLATE("gemm on the GPU: cuBLAS, own kernels and whichever is faster", S, PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  for (const GemmBase base : {GemmBase::own, GemmBase::cublas, GemmBase::automatic}) {
    for (const GemmAlgorithm algorithm :
         {GemmAlgorithm::automatic, GemmAlgorithm::classical, GemmAlgorithm::strassen}) {
      for (const Memory memory : {Memory::row_major, Memory::column_major, Memory::padded}) {
        GemmCase<T, O> problem{{264, 136, 200, 2, true, false}};
        problem.options.base = base;
        problem.options.algorithm = algorithm;
        problem.c_memory = memory;
        problem.beta = -1.0;
        try {
          check_levels(problem);
        } catch (const std::exception& error) {
          const std::string text = error.what();
          // Matrices whose batch index varies fastest have no contiguous row or column, which cuBLAS asks
          // for.
          if (base == GemmBase::cublas && memory == Memory::column_major &&
              text.find("contiguous index") != std::string::npos)
            continue;
          if (base != GemmBase::cublas || text.find("cuBLAS") == std::string::npos) throw;
          MESSAGE("not run with cuBLAS: ", text);
          return;
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("gemm on the GPU: what is not read may be NaN", S, PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const GemmAlgorithm algorithm : {GemmAlgorithm::automatic, GemmAlgorithm::classical,
                                        GemmAlgorithm::strassen, GemmAlgorithm::winograd}) {
    for (const std::int64_t n : {64, 37}) {
      GemmCase<T, O> problem{{70, n, 130}};
      problem.options.algorithm = algorithm;
      problem.draw(1, Data::integers);
      GemmCase<T, O> clean = problem;
      std::fill(problem.c.begin(), problem.c.end(), O(nan));
      std::fill(clean.c.begin(), clean.c.end(), O(0.0F));
      clean.check_exact(run(problem));
      problem = clean;
      problem.draw(2, Data::integers);
      problem.alpha = 0.0;
      problem.beta = -2.0;
      clean = problem;
      std::fill(problem.a.begin(), problem.a.end(), T(nan));
      std::fill(problem.b.begin(), problem.b.end(), T(nan));
      clean.check_exact(run(problem));
      GemmCase<T, O> no_terms{{9, n, 0}};
      no_terms.options.algorithm = algorithm;
      no_terms.beta = 2.0;
      check_levels(no_terms);
      GemmCase<T, O> no_rows{{0, n, 5}};
      no_rows.options.algorithm = algorithm;
      check_levels(no_rows);
    }
  }
}

TEST_CASE_TEMPLATE("gemm on the GPU: NaN and infinities", S, PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{128, 128, 64}, {131, 77, 70}, {17, 9, 6000}}) {
    GemmCase<T, O> problem{{m, n, k}};
    problem.options.algorithm = GemmAlgorithm::classical;
    check_special(problem, true);
    problem.options.algorithm = GemmAlgorithm::strassen;
    problem.options.max_levels = 2;
    check_special(problem, false);
  }
}

TEST_CASE_TEMPLATE("gemm on the GPU: a captured graph gives the same bits at every replay", S,
                   PAPILLON_GPU_PRODUCTS) {
  using T = typename S::in;
  using O = typename S::out;
  for (const GemmAlgorithm algorithm : {GemmAlgorithm::classical, GemmAlgorithm::strassen}) {
    for (const bool own_workspace : {true, false}) {
      GemmCase<T, O> problem{{264, 200, 136}};
      problem.options.algorithm = algorithm;
      problem.options.max_levels = algorithm == GemmAlgorithm::strassen ? 2 : -1;
      problem.draw(8);
      const auto expected = run(problem);
      const OnDevice<T> a(problem.a_shape(), Memory::row_major, problem.a, 0);
      const OnDevice<T> b(problem.b_shape(), Memory::row_major, problem.b, 0);
      OnDevice<O> c(problem.c_shape(), Memory::row_major, problem.c, 0);
      const Stream stream;
      GemmOptions options = problem.call_options();
      const PoisonedWorkspace workspace(papillon::gemm_workspace_bytes(
          stream.stream, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, c.descriptor(), options));
      if (own_workspace) options.workspace = workspace.get();
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t runnable = nullptr;
      require_cuda(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal));
      papillon::gemm(stream.stream, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, c.descriptor(),
                     options);
      require_cuda(cudaStreamEndCapture(stream.stream, &graph));
      require_cuda(cudaGraphInstantiate(&runnable, graph, 0));
      for (int replay = 0; replay < 3; ++replay) {
        require_cuda(cudaGraphLaunch(runnable, stream.stream));
        require_cuda(cudaStreamSynchronize(stream.stream));
        CHECK(first_difference(c.get(), expected) == -1);
      }
      require_cuda(cudaGraphExecDestroy(runnable));
      require_cuda(cudaGraphDestroy(graph));
    }
  }
}

TEST_CASE("gemm on the GPU: errors come before any launch") {
  const Stream stream;
  GemmCase<float> problem{{40, 40, 40}};
  problem.options.algorithm = GemmAlgorithm::strassen;
  problem.options.max_levels = 2;
  problem.draw(1);
  const OnDevice<float> a(problem.a_shape(), Memory::row_major, problem.a, 0);
  const OnDevice<float> b(problem.b_shape(), Memory::row_major, problem.b, 0);
  const OnDevice<float> c(problem.c_shape(), Memory::row_major, problem.c, 0);
  const auto refused = [&](const papillon::TensorDescriptor& to, const GemmOptions& options,
                           const char* part) {
    CHECK_THROWS_WITH_AS(
        papillon::gemm(stream.stream, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, to, options),
        doctest::Contains(part), std::invalid_argument);
    require_cuda(cudaStreamSynchronize(stream.stream));
    CHECK(c.unchanged());
  };
  const std::size_t bytes = papillon::gemm_workspace_bytes(
      stream.stream, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, c.descriptor(), problem.options);
  REQUIRE(bytes > 0);
  const DeviceBuffer workspace(bytes + 16);
  GemmOptions options = problem.options;
  options.workspace = {workspace.as<>(), bytes - 1};
  refused(c.descriptor(), options, "workspace has");
  options.workspace = {workspace.as<char>() + 8, bytes};
  refused(c.descriptor(), options, "is not aligned to 16 bytes");
  options = problem.options;
  options.max_workspace_bytes = 1;
  refused(c.descriptor(), options, "max_workspace_bytes = 1");
  papillon::TensorDescriptor inside = a.descriptor();
  refused(inside, problem.options, "A");
  papillon::TensorDescriptor narrow = c.descriptor();
  narrow.extents[1] = 39;
  refused(narrow, problem.options, "C of shape (40, 39)");
}

TEST_CASE_TEMPLATE("gemm on the GPU: complex products are refused by name", T, std::complex<float>,
                   std::complex<double>) {
  const Stream stream;
  const GemmCase<T> problem{{8, 8, 8}};
  const OnDevice<T> a(problem.a_shape(), Memory::row_major, std::vector<T>(64), 0);
  const OnDevice<T> b(problem.b_shape(), Memory::row_major, std::vector<T>(64), 0);
  const OnDevice<T> c(problem.c_shape(), Memory::row_major, std::vector<T>(64), 0);
  const std::string name(papillon::name_of(papillon::scalar_type_of<T>));
  CHECK_THROWS_WITH_AS(
      papillon::gemm(stream.stream, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, c.descriptor()),
      doctest::Contains(name.c_str()), std::invalid_argument);
  CHECK(c.unchanged());
}
