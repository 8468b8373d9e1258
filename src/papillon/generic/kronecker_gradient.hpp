// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "papillon/core/kronecker_gradient_problem.hpp"
#include "papillon/generic/kronecker.hpp"
#include "papillon/generic/kronecker_workspace.hpp"
#include "papillon/generic/team_kronecker_gradient.hpp"
#include "papillon/generic/tile_passes.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

/// What a gradient's workspace holds, each part at a multiple of 64 bytes: the buffers of the two steps, what
/// the products need themselves, the sums of the blocks of a chunk, and those of the chunks before it.
struct KroneckerGradientWorkspace {
  std::size_t buffers[2] = {};  ///< bytes
  std::size_t products = 0;
  std::size_t blocks = 0;
  std::size_t sums = 0;

  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  std::size_t bytes() const {
    return padded(buffers[0]) + padded(buffers[1]) + padded(products) + padded(blocks) + sums;
  }
};

/// The ends of the steps, of which the first reads an array and the others what the one before has written.
inline detail::KroneckerGradientEnd array_end(const detail::KroneckerGradientProblem& problem,
                                              const detail::KroneckerGradientChunk& chunk, bool of_x) {
  using End = detail::KroneckerGradientEnd;
  const std::int64_t offset =
      (of_x ? chunk.x : chunk.dy) * static_cast<std::int64_t>(size_of(problem.scalar));
  char* const data = static_cast<char*>(const_cast<void*>(of_x ? problem.x : problem.dy)) + offset;
  return {of_x ? End::Place::x : End::Place::dy, data,
          of_x ? problem.fold.axis.x_stride : problem.fold.axis.y_stride, 0};
}

/// Calls body(product) for the steps of a chunk, in order, with `buffers` to write to, and returns the end
/// that the last of them has written.
template <class Body>
detail::KroneckerGradientEnd for_each_product(const detail::KroneckerGradientProblem& problem,
                                              const detail::KroneckerGradientPlan& plan,
                                              const detail::KroneckerGradientChunk& chunk,
                                              void* const (&buffers)[2], const Body& body) {
  detail::KroneckerGradientEnd source = array_end(problem, chunk, plan.from_x);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const detail::KroneckerGradientStep& step = plan.steps[s];
    const detail::KroneckerGradientEnd target{detail::KroneckerGradientEnd::Place::buffer, buffers[s], 1,
                                              step.target.points()};
    body(detail::product_of(problem, plan, step, chunk, source, target));
    source = target;
  }
  return source;
}

template <class ExecutionSpace>
KroneckerGradientWorkspace kronecker_gradient_workspace(const detail::KroneckerGradientProblem& problem,
                                                        const detail::KroneckerGradientPlan& plan) {
  KroneckerGradientWorkspace workspace;
  for (std::size_t b = 0; b < 2; ++b) {
    workspace.buffers[b] = static_cast<std::size_t>(plan.buffer_points(b)) * size_of(problem.scalar);
  }
  // The first chunk is one of the largest.
  for_each_product(problem, plan, detail::chunk_of(problem, plan, 0), {nullptr, nullptr},
                   [&](const detail::KroneckerProblem& product) {
                     workspace.products =
                         std::max(workspace.products, kronecker_workspace_bytes<ExecutionSpace>(product));
                   });
  const auto sums =
      static_cast<std::size_t>(plan.chunk_batches * problem.pairs()) * detail::sum_bytes(problem.scalar);
  workspace.blocks = sums * static_cast<std::size_t>(plan.chunk_blocks);
  workspace.sums = plan.chunk_count > 1 ? sums : 0;
  return workspace;
}

/// Runs a checked problem.
template <class ExecutionSpace>
void run_kronecker_gradient(const ExecutionSpace& space, const detail::KroneckerGradientProblem& problem) {
  if (problem.empty) return;
  KroneckerGradientSums sums{problem.gradient, problem.factor().rows, problem.factor().columns,
                             problem.batches, problem.scale};
  if (problem.without_terms) {
    visit_product_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) { add_blocks<S>(space, sums); });
    return;
  }
  const detail::KroneckerGradientPlan plan = detail::plan_kronecker_gradient(problem);
  const auto parts = kronecker_gradient_workspace<ExecutionSpace>(problem, plan);
  const WorkspaceHolder<ExecutionSpace> workspace(space, "kronecker_factor_gradient", problem.workspace,
                                                  parts.bytes());
  char* place = static_cast<char*>(workspace.data());
  const auto take = [&](std::size_t bytes) {
    char* const taken = place;
    place += KroneckerGradientWorkspace::padded(bytes);
    return taken;
  };
  void* const buffers[2] = {take(parts.buffers[0]), take(parts.buffers[1])};
  const Workspace for_products{take(parts.products), parts.products};
  void* const blocks = take(parts.blocks);
  sums.sums = take(parts.sums);

  visit_product_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    for (std::int64_t c = 0; c < plan.chunk_count; ++c) {
      const detail::KroneckerGradientChunk chunk = detail::chunk_of(problem, plan, c);
      const detail::KroneckerGradientEnd made =
          for_each_product(problem, plan, chunk, buffers, [&](detail::KroneckerProblem product) {
            product.workspace = for_products;
            run_kronecker<is_host_space<ExecutionSpace>>(space, product);
          });
      const detail::KroneckerGradientEnd given = array_end(problem, chunk, !plan.from_x);
      const GradientBlocks terms(plan, chunk, plan.from_x ? given : made, plan.from_x ? made : given,
                                 problem.factor());
      TeamGradientBlocks<ExecutionSpace, S>(terms, blocks).launch(space);
      sums.first_batch = problem.batch_wise ? chunk.batch : 0;
      sums.batches = chunk.batches;
      sums.blocks = blocks;
      sums.block_count = terms.block_count;
      sums.first = chunk.first;
      sums.last = chunk.last;
      add_blocks<S>(space, sums);
    }
  });
}

}  // namespace papillon::generic
