// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include "api.hpp"
#include "base_matrix.hpp"
#include "device.hpp"
#include "launch.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/pass.hpp"
#include "tuning/sm_100.hpp"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {
namespace {

using detail::HadamardProblem;
using detail::Pass;

/// Shared memory that a block has on every architecture these kernels run on.
constexpr std::int64_t largest_block = 227 << 10;
/// The same less a reserve: what the pass kernel takes for a tile.
constexpr std::int64_t largest_tile = 220 << 10;

/// One pass while a transform fits the shared memory of a block; else the passes of the generic layer.
Schedule schedule_for(const HadamardProblem& problem) {
  const auto value = static_cast<std::int64_t>(detail::compute_bytes_of(problem.scalar));
  if (problem.n() > largest_tile / value) return schedule_of(problem, Architecture::device);
  Schedule schedule{Architecture::device,
                    problem.scalar,
                    problem.m,
                    problem.log2_power,
                    problem.outer(),
                    problem.fold.inner.extent,
                    {},
                    1,
                    {}};
  PassSchedule& pass = schedule.passes[0];
  pass.bits = problem.log2_power;
  pass.base_factor = problem.m > 1;
  pass.length = problem.n();
  pass.tile_bytes = static_cast<std::size_t>(problem.n() * value);
  return schedule;
}

RowTuning tuning_of(const HadamardProblem& problem, int major = 9) {
  const auto choose = major >= 10 ? sm_100::row_tuning : sm_90::row_tuning;
  return choose(static_cast<int>(size_of(problem.scalar)),
                static_cast<int>(detail::compute_bytes_of(problem.scalar)), problem.log2_power);
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

/// The problem as contiguous rows, if its axis is that and no more than one index is left beside it.
std::optional<RowProblem> contiguous_rows(const HadamardProblem& problem) {
  const Fold& fold = problem.fold;
  if (fold.inner.extent != 1 || fold.outer_rank > 1 || fold.axis.x_stride != 1 || fold.axis.y_stride != 1)
    return {};
  const std::int64_t n = problem.n();
  RowProblem rows{problem.x, problem.y, 1, n, n, problem.log2_power, problem.factor, {}, {}};
  (problem.signs.side == SignSide::input ? rows.in : rows.out) = detail::SignVector{
      problem.signs.values.data(), problem.signs.seed.value_or(0), problem.signs.seed.has_value()};
  if (fold.outer_rank == 1 && fold.outer[0].extent > 1) {
    rows.rows = fold.outer[0].extent;
    rows.x_stride = fold.outer[0].x_stride;
    rows.y_stride = fold.outer[0].y_stride;
  }
  return rows;
}

/// The problem as one that the fastest row kernels take, if it is one: contiguous rows of a power of two,
/// natural order, 16-byte aligned.
std::optional<RowProblem> as_rows(const HadamardProblem& problem) {
  if (problem.m != 1 || problem.ordering != Ordering::natural) return {};
  if (problem.scalar == ScalarType::int64 || problem.log2_power < 1) return {};
  const auto rows = contiguous_rows(problem);
  if (!rows) return {};
  const std::int64_t n = problem.n();
  const RowTuning tuning = tuning_of(problem);
  if (tuning.family == Family::pass) return {};
  const auto bytes = static_cast<std::int64_t>(size_of(problem.scalar));
  const bool dense = rows->x_stride == n && rows->y_stride == n;
  const bool several = n * bytes < 16 || (tuning.family == Family::tile && tuning.cell_bits == 10);
  if (several && !dense) return {};
  if (!aligned(problem.x) || !aligned(problem.y) || !aligned(problem.signs.values.data())) return {};
  if (!dense && (rows->x_stride * bytes % 16 != 0 || rows->y_stride * bytes % 16 != 0)) return {};
  return rows;
}

/// The problem as one for shared_rows, if a row of it fits the shared memory of a block.
std::optional<SharedRowProblem> as_shared_rows(const HadamardProblem& problem) {
  if (!has_shared_rows(problem.m)) return {};
  const auto rows = contiguous_rows(problem);
  if (!rows) return {};
  if (shared_rows_bytes(static_cast<int>(size_of(problem.scalar)),
                        static_cast<int>(detail::compute_bytes_of(problem.scalar)), problem.m, rows->k,
                        1) > largest_block) {
    return {};
  }
  return SharedRowProblem{*rows, problem.m, problem.transpose, problem.ordering};
}

/// launch(std::type_identity<S>{}) for the real scalar S.
template <class Launch>
cudaError_t for_scalar(ScalarType scalar, const Launch& launch) {
  switch (scalar) {
    case ScalarType::float32:
      return launch(std::type_identity<float>{});
    case ScalarType::float64:
      return launch(std::type_identity<double>{});
    case ScalarType::float16:
      return launch(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return launch(std::type_identity<bfloat16>{});
    case ScalarType::int32:
      return launch(std::type_identity<std::int32_t>{});
    case ScalarType::int64:
      return launch(std::type_identity<std::int64_t>{});
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t run_rows(cudaStream_t stream, const Device& device, ScalarType scalar, const RowProblem& rows,
                     KernelUse* use) {
  return for_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    if constexpr (std::is_same_v<S, std::int64_t>) {
      return cudaErrorInvalidValue;  // see as_rows
    } else {
      return launch_rows<S>(stream, device, rows, use);
    }
  });
}

cudaError_t run_shared_rows(cudaStream_t stream, const Device& device, ScalarType scalar,
                            const SharedRowProblem& rows, KernelUse* use) {
  return for_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    return launch_shared_rows<S>(stream, device, rows, use);
  });
}

cudaError_t run_pass(cudaStream_t stream, const Device& device, const Pass& pass, const std::int8_t* base,
                     KernelUse* use) {
  return detail::visit_storage(
      pass, [&]<class In, class Out>() { return launch_pass<In, Out>(stream, device, pass, base, use); });
}

/// The caller's workspace, or one from the stream's pool, which gets it back in stream order.
class StreamWorkspace {
 public:
  StreamWorkspace(cudaStream_t stream, const Workspace& given, std::size_t bytes) : stream_(stream) {
    data_ = detail::given_workspace(given, bytes);
    if (bytes == 0 || data_ != nullptr) return;
    check(cudaMallocAsync(&owned_, bytes, stream), "hadamard: allocating the workspace");
    data_ = owned_;
  }
  ~StreamWorkspace() {
    if (owned_ != nullptr) cudaFreeAsync(owned_, stream_);
  }
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;

  void* data() const { return data_; }

 private:
  cudaStream_t stream_;
  void* owned_ = nullptr;
  void* data_ = nullptr;
};

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

/// One line on what a kernel takes. `most_threads` is what the compiler was told of a multiprocessor's
/// threads.
void append(std::ostream& text, const KernelUse& use, bool present, int most_threads) {
  text << "block: " << use.threads << " threads, ";
  if (present) {
    text << use.registers << " registers a thread, ";
  } else {
    text << "at most " << std::min(255, register_file / most_threads) << " registers a thread, ";
  }
  text << use.shared_bytes << " bytes of shared memory";
  if (present) text << ", " << use.blocks_per_multiprocessor << " blocks a multiprocessor";
  text << "\n";
}

void append_in_flight(std::ostream& text, std::int64_t block_bytes, const KernelUse& use, bool present) {
  text << "bytes in flight: " << block_bytes << " a block";
  if (present) text << ", " << block_bytes * use.blocks_per_multiprocessor << " a multiprocessor";
  text << "\n";
}

void describe_rows(std::ostream& text, const HadamardProblem& problem, const RowProblem& rows, int major) {
  RowTuning tuning = tuning_of(problem, major);
  const auto bytes = static_cast<std::int64_t>(size_of(problem.scalar));
  const std::int64_t row_bytes = problem.n() * bytes;
  std::int64_t in_flight = 0;  // of a block
  const auto takes_few = major >= 10 ? sm_100::takes_few_rows : sm_90::takes_few_rows;
  if (!problem.has_signs() &&
      takes_few(static_cast<int>(bytes), static_cast<int>(detail::compute_bytes_of(problem.scalar)), rows.k,
                rows.rows)) {
    tuning.family = Family::few;
    tuning.threads = 1 << (rows.k - 3);
  }
  int most_threads = tuning.threads;
  text << "kernel: " << name_of(tuning.family) << ", one pass; constants of " << tuning.measured_on << "\n";
  if (tuning.family == Family::few) {
    in_flight = row_bytes;
    text << "rows: 1 a block\n";
  } else if (tuning.family == Family::lane) {
    const std::int64_t lanes = std::int64_t{1} << tuning.lane_bits;
    in_flight = tuning.threads * std::max<std::int64_t>(row_bytes / lanes, 16) * tuning.units;
    text << "rows: " << in_flight / row_bytes << " a block, " << lanes << (lanes == 1 ? " lane" : " lanes")
         << " a row\n";
  } else {
    const auto value = static_cast<std::int64_t>(detail::compute_bytes_of(problem.scalar));
    in_flight = (std::int64_t{8} << tuning.cell_bits) / value * bytes * tuning.teams;
    most_threads *= tuning.min_blocks;
    if (tuning.split > 0) {
      text << "rows: 1 a cluster of " << (1 << tuning.split) << " blocks\n";
    } else if (tuning.family == Family::persistent) {
      text << "rows: up to " << tuning.block_rows << " a block, one after the other, the next on its way\n";
    } else {
      text << "rows: " << in_flight / row_bytes << " a block\n";
    }
  }
  const DescribedDevice described(major);
  const KernelUse use = described.use_of([&](const Device& device, KernelUse* result) {
    return run_rows(nullptr, device, problem.scalar, rows, result);
  });
  append(text, use, described.present, most_threads);
  append_in_flight(text, in_flight, use, described.present);
}

void describe_shared_rows(std::ostream& text, const HadamardProblem& problem, const SharedRowProblem& shared,
                          int major) {
  const auto tune = major >= 10 ? sm_100::shared_tuning : sm_90::shared_tuning;
  const auto value = static_cast<int>(detail::compute_bytes_of(problem.scalar));
  const SharedTuning tuning = tune(value, static_cast<int>(shared.m), shared.rows.k, shared.rows.rows);
  const DescribedDevice described(major);
  const KernelUse use = described.use_of([&](const Device& device, KernelUse* result) {
    return run_shared_rows(nullptr, device, problem.scalar, shared, result);
  });
  const std::int64_t bytes =
      tuning.tile_rows * problem.n() * static_cast<std::int64_t>(size_of(problem.scalar));
  text << "kernel: " << name_of(Family::shared) << ", one pass\nrows: " << tuning.tile_rows << " a block\n";
  append(text, use, described.present, most_shared_threads(shared.m));
  append_in_flight(text, bytes, use, described.present);
}

void describe_passes(std::ostream& text, const HadamardProblem& problem, int major) {
  const Schedule schedule = schedule_for(problem);
  const DescribedDevice described(major);
  const bool between_wider = needs_workspace(problem, schedule);
  const ScalarType between = between_wider ? compute_scalar(problem.scalar) : problem.scalar;
  for (int p = 0; p < schedule.pass_count; ++p) {
    const ScalarType from = p == 0 ? problem.scalar : between;
    const ScalarType to = p == schedule.pass_count - 1 ? problem.scalar : between;
    const Pass pass = detail::make_pass(problem, schedule, p, problem.fold, problem.x, from, problem.y, to);
    const KernelUse use = described.use_of([&](const Device& device, KernelUse* result) {
      return run_pass(nullptr, device, pass, nullptr, result);
    });
    const auto value = static_cast<std::int64_t>(detail::compute_bytes_of(problem.scalar));
    const std::int64_t values = static_cast<std::int64_t>(use.shared_bytes) / value;
    text << "kernel: pass, number " << p + 1 << " of " << schedule.pass_count << ", a tile in shared memory\n"
         << "rows: " << values / pass.length() << " transforms of " << pass.length() << " points a block\n";
    append(text, use, described.present, 1024);
    text << "bytes in flight: " << values * static_cast<std::int64_t>(size_of(from)) << " a block\n";
  }
}

}  // namespace

void hadamard(cudaStream_t stream, const HadamardProblem& problem) {
  const Device& device = current_device();
  if (problem.empty) return;
  check_pointer(problem.x, "x", device);
  check_pointer(problem.y, "y", device);
  if (!problem.signs.values.empty()) check_pointer(problem.signs.values.data(), "signs", device);
  if (const auto rows = as_rows(problem)) {
    check(run_rows(stream, device, problem.scalar, *rows, nullptr), "hadamard: launching a row kernel");
    return;
  }
  if (const auto rows = as_shared_rows(problem)) {
    check(run_shared_rows(stream, device, problem.scalar, *rows, nullptr),
          "hadamard: launching the shared_rows kernel");
    return;
  }
  const Schedule schedule = schedule_for(problem);
  const std::int8_t* base = problem.m > 64 ? device_base_matrix(device, problem.m) : nullptr;
  const StreamWorkspace workspace(stream, problem.workspace, detail::workspace_bytes(problem, schedule));
  detail::for_each_pass(problem, schedule, workspace.data(), [&](const Pass& pass) {
    check(run_pass(stream, device, pass, base, nullptr), "hadamard: launching the pass kernel");
  });
}

std::size_t workspace_bytes(const HadamardProblem& problem) {
  if (as_rows(problem) || as_shared_rows(problem)) return 0;
  return detail::workspace_bytes(problem, schedule_for(problem));
}

int pass_count(const HadamardProblem& problem) {
  return as_rows(problem) || as_shared_rows(problem) ? 1 : schedule_for(problem).pass_count;
}

std::string describe(const HadamardProblem& problem, int major) {
  std::ostringstream text;
  if (problem.empty) return "kernel: none, there is nothing to do\n";
  if (const auto rows = as_rows(problem)) {
    describe_rows(text, problem, *rows, major);
  } else if (const auto shared = as_shared_rows(problem)) {
    describe_shared_rows(text, problem, *shared, major);
  } else {
    describe_passes(text, problem, major);
  }
  return text.str();
}

void hadamard_on_host_arrays(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                             const HadamardOptions& options) {
  HadamardOptions device_options = options;
  HadamardProblem problem = detail::make_hadamard_problem(x, y, options, true);
  current_device();
  if (problem.empty) return;

  struct Buffer {
    void* data = nullptr;
    ~Buffer() { cudaFree(data); }
  };
  // An array with its strides lies between its lowest and its highest address.
  const auto span_of = [](const auto& tensor) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int d = 0; d < tensor.rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const std::int64_t reach = tensor.strides[i] * (tensor.extents[i] - 1);
      (reach < 0 ? low : high) += reach;
    }
    const auto size = static_cast<std::int64_t>(size_of(tensor.type));
    return std::pair{low * size, static_cast<std::size_t>((high - low + 1) * size)};
  };
  const auto [x_low, x_bytes] = span_of(x);
  const auto [y_low, y_bytes] = span_of(y);
  Buffer device_x;
  Buffer device_y;
  Buffer device_signs;
  check(cudaMalloc(&device_x.data, x_bytes), "hadamard: allocating memory on the GPU");
  check(cudaMemcpy(device_x.data, static_cast<const char*>(x.data) + x_low, x_bytes, cudaMemcpyHostToDevice),
        "hadamard: copying x to the GPU");
  if (!problem.in_place) {
    check(cudaMalloc(&device_y.data, y_bytes), "hadamard: allocating memory on the GPU");
    // What lies between the elements of y is copied back too, so it must be what it was.
    check(cudaMemcpy(device_y.data, static_cast<char*>(y.data) + y_low, y_bytes, cudaMemcpyHostToDevice),
          "hadamard: copying y to the GPU");
  }
  ConstTensorDescriptor x_there = x;
  TensorDescriptor y_there = y;
  x_there.data = static_cast<const char*>(device_x.data) - x_low;
  y_there.data = static_cast<char*>(problem.in_place ? device_x.data : device_y.data) - y_low;
  if (!options.signs.values.empty()) {
    const std::size_t count = options.signs.values.size();
    check(cudaMalloc(&device_signs.data, count), "hadamard: allocating memory on the GPU");
    check(cudaMemcpy(device_signs.data, options.signs.values.data(), count, cudaMemcpyHostToDevice),
          "hadamard: copying the signs to the GPU");
    device_options.signs.values = {static_cast<const std::int8_t*>(device_signs.data), count};
  }
  device_options.workspace = {};
  hadamard(nullptr, detail::make_hadamard_problem(x_there, y_there, device_options, false));
  check(cudaMemcpy(static_cast<char*>(y.data) + y_low, problem.in_place ? device_x.data : device_y.data,
                   y_bytes, cudaMemcpyDeviceToHost),
        "hadamard: copying y from the GPU");
}

}  // namespace papillon::cuda
