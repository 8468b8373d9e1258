// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad input to gemm: one sentence that names operator, argument and value, and nothing written.
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <complex>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/gemm_case.hpp"

namespace {

using namespace papillon_test;
using papillon::BilinearAlgorithm;
using papillon::ConstTensorDescriptor;
using papillon::GemmAlgorithm;
using papillon::GemmBase;
using papillon::GemmOptions;
using papillon::MatrixOperation;
using papillon::ScalarType;
using papillon::TensorDescriptor;

/// A call that is right, until a test changes it: 4 x 6 by 6 x 5.
template <class T = float, class O = T>
struct Call {
  Guarded<T> a{Shape{4, 6}, Memory::row_major, std::vector<T>(24, T(1.0F))};
  Guarded<T> b{Shape{6, 5}, Memory::row_major, std::vector<T>(30, T(1.0F))};
  Guarded<O> c{Shape{4, 5}, Memory::row_major, std::vector<O>(20, O(1.0F))};
  ConstTensorDescriptor da = a.const_descriptor();
  ConstTensorDescriptor db = b.const_descriptor();
  TensorDescriptor dc = c.descriptor();
  std::complex<double> alpha = 1.0;
  std::complex<double> beta = 0.5;
  GemmOptions options = {};

  /// The call, the workspace question and the explanation refuse in the same words, which hold `parts`; no
  /// byte changes.
  void refused(const std::vector<std::string>& parts) {
    const auto a_before = a.bytes(), b_before = b.bytes(), c_before = c.bytes();
    const Kokkos::DefaultHostExecutionSpace space;
    std::string message = "not refused";
    try {
      papillon::gemm(space, alpha, da, db, beta, dc, options);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    space.fence();
    INFO("message: ", message);
    CHECK(message.starts_with("papillon::gemm: "));
    for (const auto& part : parts) {
      INFO("part: ", part);
      CHECK(message.find(part) != std::string::npos);
    }
    CHECK(message.find('\n') == std::string::npos);
    CHECK(a.bytes() == a_before);
    CHECK(b.bytes() == b_before);
    CHECK(c.bytes() == c_before);
    CHECK_THROWS_WITH_AS(papillon::gemm_workspace_bytes(space, alpha, da, db, beta, dc, options),
                         message.c_str(), std::invalid_argument);
    CHECK_THROWS_WITH_AS(papillon::explain_gemm(space, alpha, da, db, beta, dc, options), message.c_str(),
                         std::invalid_argument);
  }
  void taken() {
    const Kokkos::DefaultHostExecutionSpace space;
    CHECK_NOTHROW(papillon::gemm(space, alpha, da, db, beta, dc, options));
    space.fence();
  }
};

template <class T = float, class O = T, class Change>
void check_refused(const Change& change, const std::vector<std::string>& parts) {
  Call<T, O> call;
  change(call);
  call.refused(parts);
}

}  // namespace

TEST_CASE("gemm errors: the call that the others change is taken") {
  Call<>().taken();
  Call<papillon::half>().taken();
  Call<papillon::bfloat16, float>().taken();
  Call<std::complex<float>>().taken();
}

TEST_CASE("gemm errors: shapes that do not fit, with all of them in the text") {
  const std::vector<std::string> shapes{"A of shape (4, 6)", "B of shape (6, 5)", "C of shape (4, 5)"};
  check_refused([](auto& call) { call.db.extents[0] = 5; },
                {"A of shape (4, 6)", "B of shape (5, 5)", "C of shape (4, 5)"});
  check_refused([](auto& call) { call.da.extents[0] = 3; },
                {"A of shape (3, 6)", "B of shape (6, 5)", "C of shape (4, 5)"});
  check_refused([](auto& call) { call.dc.extents[1] = 4; },
                {"A of shape (4, 6)", "B of shape (6, 5)", "C of shape (4, 4)"});
  check_refused([](auto& call) { call.options.op_a = MatrixOperation::transpose; }, shapes);
  check_refused([](auto& call) { call.options.op_a = MatrixOperation::transpose; }, {"(4, 6) (transposed)"});
  check_refused([](auto& call) { call.options.op_b = MatrixOperation::conjugate_transpose; },
                {"(6, 5) (conjugate transposed)"});
  // An extent of 0 has to fit as any other.
  check_refused([](auto& call) { call.db.extents[0] = 0; }, {"B of shape (0, 5)"});
}

TEST_CASE("gemm errors: ranks and batches") {
  check_refused([](auto& call) { call.da.rank = 1; }, {"A has shape (4)"});
  check_refused([](auto& call) { call.db.rank = 0; }, {"B has rank 0"});
  check_refused([](auto& call) { call.dc.rank = 9; }, {"C has rank 9"});
  check_refused(
      [](auto& call) { call.dc = papillon::row_major(static_cast<float*>(call.dc.data), {1, 2, 2, 5}); },
      {"C has shape (1, 2, 2, 5)"});
  const auto batched = [](auto& call, std::int64_t a, std::int64_t b, std::int64_t c) {
    // Only the descriptors are looked at: they reach beyond the arrays.
    call.da = papillon::row_major(static_cast<const float*>(call.da.data), {a, 4, 6});
    call.db = papillon::row_major(static_cast<const float*>(call.db.data), {b, 6, 5});
    call.dc = papillon::row_major(static_cast<float*>(call.dc.data), {c, 4, 5});
    call.da.strides[0] = call.db.strides[0] = 0;
  };
  check_refused([&](auto& call) { batched(call, 2, 1, 1); },
                {"A of shape (2, 4, 6) has 2 matrices", "(1, 4, 5)"});
  check_refused([&](auto& call) { batched(call, 1, 3, 1); },
                {"B of shape (3, 6, 5) has 3 matrices", "(1, 4, 5)"});
  check_refused(
      [](auto& call) { call.da = papillon::row_major(static_cast<const float*>(call.da.data), {0, 4, 6}); },
      {"A of shape (0, 4, 6) has 0 matrices", "(4, 5)"});
}

TEST_CASE("gemm errors: pointers, extents, strides") {
  check_refused([](auto& call) { call.da.data = nullptr; }, {"A of shape (4, 6) has a null pointer"});
  check_refused([](auto& call) { call.dc.data = nullptr; }, {"C of shape (4, 5) has a null pointer"});
  check_refused([](auto& call) { call.db.data = static_cast<const char*>(call.db.data) + 2; },
                {"B at ", "is not aligned to its scalar"});
  check_refused([](auto& call) { call.da.extents[1] = -6; }, {"A has a negative extent: (4, -6)"});
  check_refused([](auto& call) { call.da.strides[0] = -6; },
                {"A of shape (4, 6)", "negative stride -6", "axis 0"});
  check_refused([](auto& call) { call.db.strides[1] = -1; },
                {"B of shape (6, 5)", "negative stride -1", "axis 1"});
  check_refused([](auto& call) { call.dc.strides[0] = -5; },
                {"C of shape (4, 5)", "negative stride -5", "axis 0"});
  check_refused([](auto& call) { call.da.strides[0] = 5; }, {"A of shape (4, 6)", "(5, 1)", "too small"});
  check_refused([](auto& call) { call.db.strides[0] = 0; }, {"B of shape (6, 5)", "(0, 1)", "too small"});
  check_refused([](auto& call) { call.dc.strides[0] = 4; }, {"C of shape (4, 5)", "(4, 1)", "too small"});
  check_refused([](auto& call) { call.dc.strides[1] = 0; }, {"C of shape (4, 5)", "(5, 0)"});
  check_refused([](auto& call) { call.da.strides[0] = std::numeric_limits<std::int64_t>::max() / 2; },
                {"A has strides", "beyond the address space"});
  check_refused(
      [](auto& call) {
        call.dc = papillon::row_major(static_cast<float*>(call.dc.data), {3, 4, 5});
        call.dc.strides[0] = 0;
      },
      {"C of shape (3, 4, 5)", "several indices for one element"});
}

TEST_CASE("gemm errors: matrices whose leading dimension is too small") {
  float value = 0;
  const auto type = ScalarType::float32;
  void* const data = &value;
  const void* const constant = &value;
  CHECK_THROWS_WITH_AS(papillon::row_major_matrix(constant, type, 2, 5, 4),
                       doctest::Contains("leading_dimension = 4 is less than the 5 columns"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::row_major_matrix(data, type, 2, 5, -5),
                       doctest::Contains("leading_dimension = -5"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::column_major_matrix(constant, type, 7, 2, 6),
                       doctest::Contains("leading_dimension = 6 is less than the 7 rows"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::column_major_matrix(data, type, 0, 2, 0),
                       doctest::Contains("leading_dimension = 0"), std::invalid_argument);
  const auto rows = papillon::row_major_matrix(data, type, 3, 5, 8);
  CHECK(rows.rank == 2);
  CHECK(rows.extents[0] == 3);
  CHECK(rows.extents[1] == 5);
  CHECK(rows.strides[0] == 8);
  CHECK(rows.strides[1] == 1);
  const auto columns = papillon::column_major_matrix(constant, type, 3, 5, 8);
  CHECK(columns.extents[0] == 3);
  CHECK(columns.extents[1] == 5);
  CHECK(columns.strides[0] == 1);
  CHECK(columns.strides[1] == 8);
}

TEST_CASE("gemm errors: C shares elements with A or B") {
  check_refused(
      [](auto& call) { call.dc = {const_cast<void*>(call.da.data), ScalarType::float32, 2, {4, 5}, {5, 1}}; },
      {"A", "C"});
  check_refused(
      [](auto& call) { call.dc = {const_cast<void*>(call.db.data), ScalarType::float32, 2, {4, 5}, {5, 1}}; },
      {"B", "C"});
  // The last element of A alone.
  check_refused(
      [](auto& call) {
        auto* last = static_cast<float*>(const_cast<void*>(call.da.data)) + 23;
        call.dc = {last, ScalarType::float32, 2, {4, 5}, {5, 1}};
      },
      {"A", "C"});
  // Square, the very same matrix: a product cannot be formed in place.
  check_refused(
      [](auto& call) {
        call.da.extents[1] = call.db.extents[0] = call.db.extents[1] = call.dc.extents[1] = 4;
        call.dc.strides = call.da.strides;
        call.dc.data = const_cast<void*>(call.da.data);
      },
      {"A", "C"});
  // Also where nothing would be multiplied, or C not read.
  check_refused(
      [](auto& call) {
        call.alpha = 0.0;
        call.beta = 0.0;
        call.dc = {const_cast<void*>(call.da.data), ScalarType::float32, 2, {4, 5}, {5, 1}};
      },
      {"A", "C"});
  // Columns of one array side by side share nothing, A and B may be the same.
  std::vector<float> both(4 * 20, 1.0F);
  Call<> call;
  call.da = papillon::row_major_matrix(static_cast<const void*>(both.data()), ScalarType::float32, 4, 4, 20);
  call.db = call.da;
  call.dc = papillon::row_major_matrix(static_cast<void*>(both.data() + 4), ScalarType::float32, 4, 4, 20);
  call.taken();
  CHECK(both[4] == 4.5F);
  CHECK(both[8] == 1.0F);
}

TEST_CASE("gemm errors: overlap of 16-bit operands with a float result") {
  Call<papillon::half, float> call;
  auto* inside = reinterpret_cast<float*>(const_cast<char*>(static_cast<const char*>(call.da.data)));
  inside = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(inside) + 4) / 4 * 4);
  call.dc = {inside, ScalarType::float32, 2, {4, 5}, {5, 1}};
  call.refused({"A", "C"});
}

TEST_CASE("gemm errors: scalars") {
  check_refused([](auto& call) { call.db.type = ScalarType::int32; }, {"B holds int32"});
  check_refused<std::complex<double>>(
      [](auto& call) { call.da.type = call.db.type = call.dc.type = ScalarType::int64; }, {"A holds int64"});
  check_refused([](auto& call) { call.dc.type = ScalarType::int32; }, {"C holds int32"});
  check_refused([](auto& call) { call.da.type = static_cast<ScalarType>(77); },
                {"A has the unknown scalar type 77"});
  check_refused([](auto& call) { call.db.type = ScalarType::bfloat16; },
                {"A holds float32 but B holds bfloat16"});
  check_refused([](auto& call) { call.dc.type = ScalarType::float16; },
                {"A holds float32 but C holds float16"});
  check_refused<papillon::half>([](auto& call) { call.dc.type = ScalarType::bfloat16; },
                                {"A holds float16 but C holds bfloat16", "float32"});
  check_refused<papillon::half>([](auto& call) { call.db.type = ScalarType::bfloat16; },
                                {"A holds float16 but B holds bfloat16"});
  check_refused<std::complex<float>>([](auto& call) { call.dc.type = ScalarType::float32; },
                                     {"A holds complex64 but C holds float32"});
  check_refused([](auto& call) { call.alpha = {1.0, 2.0}; }, {"alpha = (1,2)", "float32"});
  check_refused([](auto& call) { call.beta = {0.0, -1.0}; }, {"beta = (0,-1)", "float32"});
  check_refused<papillon::bfloat16, float>([](auto& call) { call.alpha = {1.0, 2.0}; },
                                           {"alpha = (1,2)", "bfloat16"});
}

TEST_CASE("gemm errors: options") {
  check_refused([](auto& call) { call.options.op_a = static_cast<MatrixOperation>(4); }, {"op_a", "4"});
  check_refused([](auto& call) { call.options.op_b = static_cast<MatrixOperation>(-1); }, {"op_b", "-1"});
  check_refused([](auto& call) { call.options.algorithm = static_cast<GemmAlgorithm>(5); },
                {"algorithm", "5"});
  check_refused([](auto& call) { call.options.base = static_cast<GemmBase>(3); }, {"base", "3"});
  check_refused([](auto& call) { call.options.max_levels = -2; }, {"max_levels = -2"});
  check_refused([](auto& call) { call.options.algorithm = GemmAlgorithm::table; }, {"tables is empty"});
  std::vector<BilinearAlgorithm> tables{papillon::strassen_algorithm(), papillon::winograd_algorithm()};
  check_refused(
      [&](auto& call) {
        call.options.algorithm = GemmAlgorithm::strassen;
        call.options.tables = tables;
      },
      {"tables has 2 entries", "algorithm is not table"});
  const auto with_tables = [&](auto& call) {
    call.options.algorithm = GemmAlgorithm::table;
    call.options.tables = tables;
  };
  tables[1].v[5] = 1;
  check_refused(with_tables, {"tables[1]", "winograd", "<2,2,2; 7>"});
  tables[1] = papillon::winograd_algorithm();
  tables[0].u.pop_back();
  check_refused(with_tables, {"tables[0]", "strassen"});
  // Checked even where nothing is multiplied.
  check_refused(
      [&](auto& call) {
        with_tables(call);
        call.alpha = 0.0;
      },
      {"tables[0]"});
}

TEST_CASE("gemm errors: more products than the library takes") {
  const std::vector<float> a(64 * 64, 1.0F), b(64 * 64, 1.0F);
  std::vector<float> c(64 * 64, 1.0F);
  GemmOptions options;
  options.algorithm = GemmAlgorithm::strassen;
  options.max_levels = 6;
  CHECK_THROWS_WITH_AS(
      papillon::gemm(Kokkos::DefaultHostExecutionSpace{}, 1.0, papillon::row_major(a.data(), {64, 64}),
                     papillon::row_major(b.data(), {64, 64}), 0.0, papillon::row_major(c.data(), {64, 64}),
                     options),
      doctest::Contains("max_levels = 6"), std::invalid_argument);
  CHECK(c == std::vector<float>(64 * 64, 1.0F));
}

TEST_CASE("gemm errors: workspaces that are too small or not aligned") {
  // Host spaces need none; where the plan asks for some, the checks are those of every operator.
  alignas(16) char memory[64] = {};
  CHECK_THROWS_WITH_AS(papillon::detail::given_workspace("gemm", {memory, 63}, 64),
                       doctest::Contains("papillon::gemm: workspace has 63 bytes but 64 are needed"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::detail::given_workspace("gemm", {memory + 8, 56}, 56),
                       doctest::Contains("is not aligned to 16 bytes"), std::invalid_argument);
  for_each_space([&]<class Space>(const Space& space) {
    GemmCase<float> problem{{40, 40, 40}};
    problem.options.algorithm = GemmAlgorithm::strassen;
    problem.options.max_levels = 2;
    problem.draw(1);
    Guarded<float, Space> a(problem.a_shape(), Memory::row_major, problem.a),
        b(problem.b_shape(), Memory::row_major, problem.b), c(problem.c_shape());
    const auto call = [&](const GemmOptions& options) {
      papillon::gemm(space, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, c.descriptor(), options);
    };
    const std::size_t bytes = papillon::gemm_workspace_bytes(
        space, 1.0, a.const_descriptor(), b.const_descriptor(), 0.0, c.descriptor(), problem.options);
    if (bytes == 0) return;
    const Kokkos::View<double*, typename Space::memory_space> workspace("workspace",
                                                                        bytes / sizeof(double) + 2);
    GemmOptions options = problem.options;
    options.workspace = {workspace.data(), bytes - 1};
    CHECK_THROWS_WITH_AS(call(options), doctest::Contains("workspace has"), std::invalid_argument);
    options.workspace = {workspace.data() + 1, bytes};
    CHECK_THROWS_WITH_AS(call(options), doctest::Contains("not aligned"), std::invalid_argument);
    options = problem.options;
    options.max_workspace_bytes = 1;
    CHECK_THROWS_WITH_AS(call(options), doctest::Contains("max_workspace_bytes = 1"), std::invalid_argument);
    space.fence();
    CHECK(c.untouched());
  });
}
