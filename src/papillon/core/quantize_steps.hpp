// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "papillon/core/quantize_kernels.hpp"

namespace papillon::detail {

/// Bytes in front of the workspace of `quantize`: what its kernels share.
inline constexpr std::size_t state_bytes = 64;
static_assert(sizeof(QuantizeState) <= state_bytes);

/// visit(std::type_identity<S>) for the scalars that are quantised.
template <class Visit>
void visit_float_scalar(ScalarType scalar, const Visit& visit) {
  switch (scalar) {
    case ScalarType::float16:
      return visit(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return visit(std::type_identity<bfloat16>{});
    case ScalarType::float64:
      return visit(std::type_identity<double>{});
    default:
      return visit(std::type_identity<float>{});
  }
}

/// Chunks of rotated values of about `chunk_bytes`, in the type that they are rotated in.
inline RowChunking rotation_chunks(const QuantizedRows& q, std::int64_t group, std::size_t element_bytes,
                                   std::int64_t chunk_bytes) {
  return chunk_rows(q, group, static_cast<std::int64_t>(element_bytes), chunk_bytes);
}

inline std::size_t plain_workspace_bytes(const QuantizeProblem& problem, std::int64_t chunk_bytes) {
  if (problem.group == 0 || problem.empty) return state_bytes;
  return state_bytes +
         rotation_chunks(problem.q, problem.group, size_of(compute_scalar(problem.scalar)), chunk_bytes)
             .bytes;
}

inline std::size_t plain_workspace_bytes(const DequantizeProblem& problem, std::int64_t chunk_bytes) {
  if (problem.group == 0 || problem.empty) return 0;
  return rotation_chunks(problem.q, problem.group, sizeof(float), chunk_bytes).bytes;
}

/// Calls `run(chunk, source)` with the rotated values, chunk by chunk, or once with x itself.
template <class Engine, class Run>
void for_each_source(const Engine& engine, const QuantizeProblem& problem, void* rotated, const Run& run) {
  visit_float_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    const S* x = static_cast<const S*>(problem.x);
    if (problem.group == 0) {
      const QuantizedLayout& layout = problem.q.layout;
      run(RowChunk{0, problem.q.groups(), 0, layout.rows, 0, layout.columns},
          RowSource<S>{x, problem.x_rows});
      return;
    }
    using C = compute_type<S>;
    C* values = static_cast<C*>(rotated);
    for_each_chunk(problem.q, rotation_chunks(problem.q, problem.group, sizeof(C), engine.chunk_bytes()),
                   [&](const RowChunk& chunk) {
                     engine.for_each(CopyChunk<S, C>{chunk, problem.x_rows, x, values});
                     engine.rotate(row_major(values, {chunk.rows, chunk.columns}),
                                   rotation_options(problem.group, problem.signs, false));
                     run(chunk, RowSource<C>{values, dense_rows(chunk), chunk.first_row, chunk.first_column});
                   });
  });
}

/// The scales and codes of a chunk.
template <class Engine, class Source>
void quantize_chunk(const Engine& engine, const QuantizeProblem& problem, const RowChunk& chunk,
                    const Source& source, QuantizeState* state) {
  using Atomics = typename Engine::Atomics;
  const BlockCodes codes{problem.q, problem.payload, problem.scales, problem.stochastic, problem.random};
  const ChunkBlocks blocks{chunk, problem.q};
  if (problem.q.layout.block * problem.q.group_rows() <= longest_single_block ||
      !has_float_scales(problem.q.scaling.format)) {
    engine.for_each(MakeScales<Source, Atomics>{blocks, codes, source, state, problem.statistics});
  } else {
    float* scales = reinterpret_cast<float*>(problem.scales);
    engine.for_each(ClearScales{blocks, scales});
    engine.for_each(FindBlockAmax<Source, Atomics>{blocks, source, scales});
    engine.for_each(MakeLongScales<Atomics>{blocks, codes, state, problem.statistics});
  }
  engine.for_each(MakeCodes<Source, Atomics>{chunk, codes, source, state, problem.statistics,
                                             problem.amax != nullptr && !problem.computes_global()});
}

/// The plain form of `quantize`: kernels over blocks and over runs of 16 elements. Rotations go through
/// `workspace` of `plain_workspace_bytes`, a chunk of rows at a time.
///
/// `Engine` is a backend: `for_each(kernel)` calls kernel(i) for 0 <= i < kernel.count(), after all that was
/// asked for before; `rotate(matrix, options)` transforms the rows of a matrix in place; `chunk_bytes()` is
/// what a cache near the cores holds.
template <class Engine>
void plain_quantize(const Engine& engine, const QuantizeProblem& problem, void* workspace) {
  using Atomics = typename Engine::Atomics;
  auto* state = static_cast<QuantizeState*>(workspace);
  void* rotated = static_cast<char*>(workspace) + state_bytes;
  engine.for_each(StartQuantize{state, problem.statistics});
  if (problem.computes_global() && !problem.empty) {
    for_each_source(engine, problem, rotated, [&]<class Source>(const RowChunk& chunk, const Source& source) {
      engine.for_each(FindAmax<Source, Atomics>{chunk, source, state});
    });
  }
  engine.for_each(SetGlobalScale{state, problem.statistics, problem.global_scale, problem.global_source,
                                 problem.q.scaling.rule, problem.given_scale});
  if (!problem.empty) {
    engine.for_each(ClearScalePadding{problem.q.layout, problem.scales});
    for_each_source(engine, problem, rotated, [&](const RowChunk& chunk, const auto& source) {
      quantize_chunk(engine, problem, chunk, source, state);
    });
  }
  engine.for_each(StoreAmax{state, problem.amax});
}

/// The plain form of `dequantize`, as above.
template <class Engine>
void plain_dequantize(const Engine& engine, const DequantizeProblem& problem, void* workspace) {
  if (problem.empty) return;
  const BlockValues values{problem.q, problem.payload, problem.scales};
  visit_float_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    S* y = static_cast<S*>(problem.y);
    const QuantizedLayout& layout = problem.q.layout;
    if (problem.group == 0) {
      const RowChunk all{0, problem.q.groups(), 0, layout.rows, 0, layout.columns};
      engine.for_each(DecodeChunk<S>{all, values, problem.global_scale, problem.y_rows, y});
      return;
    }
    float* rotated = static_cast<float*>(workspace);
    for_each_chunk(
        problem.q, rotation_chunks(problem.q, problem.group, sizeof(float), engine.chunk_bytes()),
        [&](const RowChunk& chunk) {
          engine.for_each(DecodeChunk<float>{chunk, values, problem.global_scale, dense_rows(chunk), rotated,
                                             chunk.first_row, chunk.first_column});
          engine.rotate(row_major(rotated, {chunk.rows, chunk.columns}),
                        rotation_options(problem.group, problem.signs, true));
          engine.for_each(StoreChunk<S>{chunk, problem.y_rows, rotated, y});
        });
  });
}

}  // namespace papillon::detail
