// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <algorithm>
#include <sstream>

#include "api.hpp"
#include "device.hpp"
#include "route.hpp"
#include "tuning/sm_100.hpp"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {
namespace {

using detail::HadamardProblem;
using detail::Pass;

constexpr int register_file = 65536;  // of a multiprocessor, in registers

/// A device to describe kernels for: the current one where it is of the architecture, else a typical one.
struct DescribedDevice {
  explicit DescribedDevice(int major)
      : present(why_unavailable().empty() && current_device().major == major),
        device(present ? current_device() : Device{0, major, 0, major >= 10 ? 148 : 132, 227 << 10}) {}

  /// What `run(device, use)` says that a kernel takes; without the device only a part of it is known.
  template <class Run>
  KernelUse use_of(const Run& run) const {
    KernelUse use;
    const cudaError_t error = run(device, &use);
    if (present) {
      check(error, "hadamard: describing a kernel");
    } else {
      cudaGetLastError();
    }
    return use;
  }

  bool present;
  Device device;
};

/// One line on what a kernel takes.
void append(std::ostream& text, const KernelUse& use, bool present) {
  text << "block: " << use.threads << " threads, ";
  if (present) {
    text << use.registers << " registers a thread, ";
  } else {
    text << "at most " << std::min(255, register_file / use.resident_threads) << " registers a thread, ";
  }
  text << use.shared_bytes << " bytes of shared memory";
  if (present) text << ", " << use.blocks_per_multiprocessor << " blocks a multiprocessor";
  if (present && use.clusters > 0) text << ", " << use.clusters << " clusters on the card";
  text << "\n";
}

void append_in_flight(std::ostream& text, std::int64_t block_bytes, const KernelUse& use, bool present) {
  text << "bytes in flight: " << block_bytes << " a block";
  if (present) text << ", " << block_bytes * use.blocks_per_multiprocessor << " a multiprocessor";
  text << "\n";
}

void describe_rows(std::ostream& text, const Pass& pass, const RowProblem& rows, int major) {
  RowTuning tuning = tuning_of(pass.source_type, rows, major);
  const auto bytes = static_cast<std::int64_t>(size_of(pass.source_type));
  const std::int64_t row_elements = std::int64_t{1} << rows.k;
  const std::int64_t row_bytes = row_elements * bytes;
  std::int64_t in_flight = 0;  // of a block
  const auto takes_few = major >= 10 ? sm_100::takes_few_rows : sm_90::takes_few_rows;
  if (!rows.widened && rows.first_bit == 0 && !pass.in.any() && !pass.out.any() &&
      takes_few(static_cast<int>(bytes), static_cast<int>(detail::compute_bytes_of(pass.source_type)), rows.k,
                rows.rows)) {
    tuning.family = Family::few;
    tuning.threads = 1 << (rows.k - 3);
  }
  text << "kernel: " << name_of(tuning.family) << "; constants of " << tuning.measured_on << "\n";
  if (rows.first_bit > 0) {
    text << "a row: " << pass.length() << " points of " << (std::int64_t{1} << rows.first_bit)
         << " columns; the stages of the lowest " << rows.first_bit << " bits are left out\n";
  }
  if (tuning.family == Family::few) {
    in_flight = row_bytes;
    text << "rows: 1 a block\n";
  } else if (tuning.family == Family::lane) {
    const std::int64_t lanes = std::int64_t{1} << tuning.lane_bits;
    in_flight = tuning.threads * std::max<std::int64_t>(row_bytes / lanes, 16) * tuning.units;
    text << "rows: " << in_flight / row_bytes << " a block, " << lanes << (lanes == 1 ? " lane" : " lanes")
         << " a row\n";
  } else {
    const auto value = static_cast<std::int64_t>(detail::compute_bytes_of(pass.source_type));
    in_flight = (std::int64_t{8} << tuning.cell_bits) / value * bytes * tuning.teams;
    if (tuning.split > 0) {
      text << "rows: 1 a cluster of " << (1 << tuning.split) << " blocks of "
           << (row_elements >> tuning.split) << " elements\n";
    } else if (tuning.family == Family::persistent) {
      text << "rows: up to " << tuning.block_rows << " a block, one after the other, the next on its way\n";
    } else {
      text << "rows: " << in_flight / row_bytes << " a block\n";
    }
  }
  const DescribedDevice described(major);
  const KernelUse use = described.use_of([&](const Device& device, KernelUse* result) {
    return run_rows(nullptr, device, pass.source_type, rows, result);
  });
  append(text, use, described.present);
  append_in_flight(text, in_flight, use, described.present);
}

void describe_shared_rows(std::ostream& text, const Pass& pass, const SharedRowProblem& shared, int major) {
  const auto tune = major >= 10 ? sm_100::shared_tuning : sm_90::shared_tuning;
  const auto value = static_cast<int>(detail::compute_bytes_of(pass.source_type));
  const SharedTuning tuning = tune(value, static_cast<int>(shared.m), shared.rows.k, shared.rows.rows);
  const DescribedDevice described(major);
  const KernelUse use = described.use_of([&](const Device& device, KernelUse* result) {
    return run_shared_rows(nullptr, device, pass.source_type, shared, result);
  });
  const std::int64_t bytes =
      tuning.tile_rows * pass.length() * static_cast<std::int64_t>(size_of(pass.source_type));
  text << "kernel: " << name_of(Family::shared) << "\nrows: " << tuning.tile_rows << " a block\n";
  append(text, use, described.present);
  append_in_flight(text, bytes, use, described.present);
}

void describe_columns(std::ostream& text, const Pass& pass, int major) {
  const Family family = column_family(pass);
  const DescribedDevice described(major);
  const KernelUse use = described.use_of([&](const Device& device, KernelUse* result) {
    return run_columns(nullptr, device, family, pass, nullptr, result);
  });
  const std::size_t value = size_of(compute_scalar(pass.source_type));
  text << "kernel: " << name_of(family) << "\n";
  std::int64_t tile = 0;  // elements of a block
  if (use.columns > 0) {
    tile = pass.length() * use.columns / use.cluster;
    text << "tile: " << pass.length() << " points of " << use.columns << " columns, in ";
    if (use.cluster > 1) {
      text << "a cluster of " << use.cluster << " blocks\n";
    } else {
      text << "a block\n";
    }
  } else if (family == Family::packed) {
    const std::int64_t block = pass.length() * pass.fold.inner.extent;
    tile = packed_tile_elements(block, pass.fold.outer_count(), value);
    text << "tile: " << tile / block << " outer indices a block, " << pass.length() << " points of "
         << pass.fold.inner.extent << " columns each\n";
  } else {
    tile = static_cast<std::int64_t>(use.shared_bytes / value);
    text << "tile: " << tile / pass.length() << " transforms of " << pass.length() << " points a block\n";
  }
  append(text, use, described.present);
  append_in_flight(text, tile * static_cast<std::int64_t>(size_of(pass.source_type)), use, described.present);
}

/// The passes that a transform goes through. Of the workspace only the address is looked at.
detail::Passes passes_of(const HadamardProblem& step) {
  alignas(16) static std::byte workspace[16];
  return detail::first_sweep(step, plan_of(step), workspace);
}

}  // namespace

detail::Traffic traffic(const HadamardProblem& problem) {
  detail::Traffic result;
  for_each_step(problem, [&](const HadamardProblem& step) { result.add(passes_of(step)); });
  return result;
}

std::string describe(const HadamardProblem& problem, int major) {
  std::ostringstream text;
  if (problem.empty) return "kernel: none, there is nothing to do\n";
  const int count = traffic(problem).passes;
  int number = 0;
  for_each_step(problem, [&](const HadamardProblem& step) {
    for (const Pass& pass : passes_of(step)) {
      ++number;
      if (count > 1) text << "pass " << number << " of " << count << "\n";
      if (const auto rows = as_rows(pass)) {
        describe_rows(text, pass, *rows, major);
      } else if (const auto shared = as_shared_rows(pass)) {
        describe_shared_rows(text, pass, *shared, major);
      } else {
        describe_columns(text, pass, major);
      }
    }
  });
  return text.str();
}

}  // namespace papillon::cuda
