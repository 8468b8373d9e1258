// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "quantize.hpp"

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <set>
#include <utility>

#include "buffer.hpp"
#include "limits.hpp"
#include "papillon/papillon.hpp"

namespace papillon::perf {
namespace {

using Bytes = Kokkos::View<std::uint8_t*, Kokkos::HostSpace>;
constexpr int log2_columns = 12;
static_assert(QuantizeCase::columns == 1 << log2_columns);

/// The matrix, and room for its codes and scales.
struct Arrays {
  explicit Arrays(const QuantizeCase& what)
      : layout(quantized_layout(std::array{what.rows, QuantizeCase::columns}, what.options())),
        buffer({what.scalar, what.bytes(), log2_columns}),
        payload("payload", layout.payload_bytes),
        scales("scales", layout.scale_bytes) {
    x.data = buffer.data();
    x.type = what.scalar;
    x.rank = 2;
    x.extents = {what.rows, QuantizeCase::columns};
    x.strides = {QuantizeCase::columns, 1};
  }
  BlockScaledView view() {
    return {{payload.data(), payload.size()}, {scales.data(), scales.size()}, &global};
  }
  ConstBlockScaledView const_view() {
    return {{payload.data(), payload.size()}, {scales.data(), scales.size()}, &global};
  }

  QuantizedLayout layout;
  Buffer buffer;
  Bytes payload, scales;
  float global = 1.0F;
  TensorDescriptor x;
};

void count_input(benchmark::State& state, std::int64_t bytes) {
  state.counters["input_bytes_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations() * bytes), benchmark::Counter::kIsRate);
}

void run_quantize(benchmark::State& state, const QuantizeCase& what) {
  Arrays arrays(what);
  const Kokkos::DefaultHostExecutionSpace space;
  QuantizeOptions options = what.options();
  Bytes workspace("workspace", quantize_workspace_bytes(space, arrays.x, arrays.view(), options));
  options.workspace = {workspace.data(), workspace.size()};
  for (auto _ : state) {
    quantize(space, arrays.x, arrays.view(), options);
    benchmark::ClobberMemory();
  }
  count_input(state, what.bytes());
}

/// Bytes counted are those of the result.
void run_dequantize(benchmark::State& state, const QuantizeCase& what) {
  Arrays arrays(what);
  const Kokkos::DefaultHostExecutionSpace space;
  quantize(space, arrays.x, arrays.view(), what.options());
  for (auto _ : state) {
    dequantize(space, arrays.const_view(), arrays.x, what.options());
    benchmark::ClobberMemory();
  }
  count_input(state, what.bytes());
}

void run_limit(benchmark::State& state, ScalarType scalar, std::int64_t bytes, int threads) {
  Buffer buffer({scalar, bytes, log2_columns});
  for (auto _ : state) {
    scale_in_place(static_cast<float*>(buffer.data()), bytes, 1.0F, threads);
    benchmark::ClobberMemory();
  }
  count_input(state, bytes);
}

}  // namespace

QuantizeOptions QuantizeCase::options() const {
  QuantizeOptions options;
  options.format = format;
  options.axis = axis;
  options.block_shape = shape;
  options.rotation = rotation;
  options.global_scale_source = source;
  options.global_scale = 0.002F;
  options.rounding = rounding;
  return options;
}

std::string QuantizeCase::name() const {
  std::string name = std::string(scalar == ScalarType::bfloat16 ? "bfloat16" : "float32") + "/" +
                     std::to_string(rows) + "x" + std::to_string(columns) + "/" +
                     std::string(name_of(format));
  name += ", rotation " + std::to_string(rotation);
  if (format == BlockFormat::nvfp4) name += ", " + std::string(name_of(source)) + " scale";
  if (shape == BlockShape::square) name += ", square";
  if (rounding == Rounding::stochastic) name += ", stochastic";
  if (axis == 0) name += ", axis 0";
  return name;
}

std::vector<QuantizeCase> quantize_cases(bool quick) {
  constexpr std::int64_t near = 128;   // a megabyte or two
  constexpr std::int64_t far = 16384;  // from memory
  std::vector<QuantizeCase> cases;
  for (const ScalarType scalar : {ScalarType::bfloat16, ScalarType::float32}) {
    for (const std::int64_t rows : {near, far}) {
      if (quick && rows != near) continue;
      for (const std::int64_t rotation : {0, 16, 128}) {
        if (quick && rotation != 16) continue;
        for (const auto source : {GlobalScaleSource::given, GlobalScaleSource::computed})
          cases.push_back({scalar, rows, BlockFormat::nvfp4, rotation, source});
      }
    }
    if (quick) continue;
    for (const auto format : {BlockFormat::mxfp4, BlockFormat::mxfp8_e4m3, BlockFormat::fp8_e4m3,
                              BlockFormat::int8, BlockFormat::int4})
      cases.push_back({scalar, near, format});
    QuantizeCase other{scalar, near};
    other.rounding = Rounding::stochastic;
    cases.push_back(other);
    other = {scalar, near};
    other.shape = BlockShape::square;
    cases.push_back(other);
    other = {scalar, 4096};
    other.axis = 0;
    cases.push_back(other);
  }
  return cases;
}

void register_quantizer(bool quick, int threads) {
  std::set<std::pair<ScalarType, std::int64_t>> limits;
  for (const QuantizeCase& what : quantize_cases(quick)) {
    const auto add = [&](const std::string& name, const auto& run) {
      benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->MinTime(0.05)->Repetitions(5);
    };
    if (limits.emplace(what.scalar, what.rows).second) {
      const std::string name = what.name();
      add("quantize_limit/" + name.substr(0, name.rfind('/')),
          [=](benchmark::State& state) { run_limit(state, what.scalar, what.bytes(), threads); });
    }
    add("quantize/" + what.name(), [=](benchmark::State& state) { run_quantize(state, what); });
    add("dequantize/" + what.name(), [=](benchmark::State& state) { run_dequantize(state, what); });
  }
}

}  // namespace papillon::perf
