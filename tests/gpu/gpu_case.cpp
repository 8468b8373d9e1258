// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_case.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "papillon/cuda.hpp"
#include "papillon/hadamard.hpp"

namespace papillon::test {
namespace {

template <class F>
decltype(auto) with_type(ScalarType type, F&& f) {
  switch (type) {
    case ScalarType::float32:
      return f(float{});
    case ScalarType::float64:
      return f(double{});
    case ScalarType::float16:
      return f(half{});
    case ScalarType::bfloat16:
      return f(bfloat16{});
    case ScalarType::int32:
      return f(std::int32_t{});
    case ScalarType::int64:
      return f(std::int64_t{});
    default:
      throw std::invalid_argument("complex arrays are tested as their reals");
  }
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

ScalarType part_of(ScalarType type) { return real_of(type); }
std::int64_t parts_of(ScalarType type) { return is_complex(type) ? 2 : 1; }

struct Layout {
  std::vector<std::int64_t> strides;
  std::int64_t low = 0;
  std::int64_t size = 0;
};

Layout layout_of(const std::vector<std::int64_t>& extents, std::vector<std::int64_t> strides) {
  if (strides.empty()) {
    strides.resize(extents.size());
    std::int64_t stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= extents[d];
    }
  }
  Layout layout{strides, 0, 1};
  std::int64_t high = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::int64_t reach = strides[d] * (extents[d] - 1);
    (reach < 0 ? layout.low : high) += reach;
  }
  layout.size = high - layout.low + 1;
  return layout;
}

template <class Pointer>
BasicTensorDescriptor<Pointer> descriptor(const Case& problem, Pointer data, const Layout& layout) {
  BasicTensorDescriptor<Pointer> result{data, problem.type, static_cast<int>(problem.extents.size()), {}, {}};
  for (std::size_t d = 0; d < problem.extents.size(); ++d) {
    result.extents[d] = problem.extents[d];
    result.strides[d] = layout.strides[d];
  }
  return result;
}

}  // namespace

void require_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) { require_cuda(cudaMalloc(&data_, bytes)); }
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }

namespace {

std::vector<unsigned char> draw(ScalarType type, std::int64_t count, Fill fill, std::uint64_t seed) {
  const std::int64_t reals = count * parts_of(type);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(reals) * size_of(part_of(type)));
  with_type(part_of(type), [&]<class T>(T) {
    auto* values = reinterpret_cast<T*>(bytes.data());
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < reals; ++i) {
      if constexpr (std::is_integral_v<T>) {
        values[i] = static_cast<T>(random());
      } else {
        if (fill == Fill::bits) {
          const std::uint64_t word = random();
          std::memcpy(&values[i], &word, sizeof(T));
          continue;
        }
        values[i] = static_cast<T>(normal(random));
        if (fill != Fill::adversarial) continue;
        constexpr bool wide = std::is_same_v<T, double>;
        const double huge = std::is_same_v<T, half> ? 65504.0 : wide ? 1e308 : 3e38;
        const double tiny = std::is_same_v<T, half> ? 6e-8 : wide ? 4.9e-324 : 9.2e-41;
        switch (random() % 4096) {
          case 0:
            values[i] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
            break;
          case 1:
            values[i] = static_cast<T>(std::numeric_limits<float>::infinity());
            break;
          case 2:
            values[i] = static_cast<T>(-std::numeric_limits<float>::infinity());
            break;
          case 3:
          case 4:
            values[i] = static_cast<T>(static_cast<std::conditional_t<wide, double, float>>(huge));
            break;
          default:
            switch (random() % 6) {
              case 0:
                values[i] = static_cast<T>(0.0f);
                break;
              case 1:
                values[i] = static_cast<T>(-0.0f);
                break;
              case 2:
                values[i] = static_cast<T>(static_cast<std::conditional_t<wide, double, float>>(
                    tiny * static_cast<double>(random() % 9)));
                break;
              default:
                break;
            }
        }
      }
    }
  });
  return bytes;
}

}  // namespace

std::vector<unsigned char> make_data(ScalarType type, std::int64_t count, Fill fill, std::uint64_t seed) {
  // Drawing takes longer than transforming: the longest array asked for so far is kept, and beyond a prime
  // number of elements it is repeated, out of step with every power of two.
  constexpr std::int64_t most_drawn = 16777213;
  static std::map<std::tuple<ScalarType, Fill, std::uint64_t>, std::vector<unsigned char>> kept;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& data = kept[{type, fill, seed}];
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
  const std::int64_t drawn = std::min(count, most_drawn);
  if (data.size() < static_cast<std::size_t>(drawn) * size_of(type))
    data = draw(type, std::min(drawn + drawn / 2, most_drawn), fill, seed);
  std::vector<unsigned char> result(bytes);
  for (std::size_t begin = 0; begin < bytes; begin += data.size())
    std::memcpy(result.data() + begin, data.data(), std::min(data.size(), bytes - begin));
  return result;
}

std::vector<std::int8_t> sign_vector(std::size_t count) {
  std::vector<std::int8_t> signs(count);
  for (std::size_t i = 0; i < count; ++i) signs[i] = i * 2654435761u % 7 < 3 ? -1 : 1;
  return signs;
}

std::int64_t first_difference(ScalarType type, const void* a, const void* b, std::int64_t count) {
  const std::int64_t reals = count * parts_of(type);
  if (std::memcmp(a, b, static_cast<std::size_t>(reals) * size_of(part_of(type))) == 0) return -1;
  return with_type(part_of(type), [&]<class T>(T) -> std::int64_t {
    const T* p = static_cast<const T*>(a);
    const T* q = static_cast<const T*>(b);
    for (std::int64_t i = 0; i < reals; ++i) {
      if (std::memcmp(p + i, q + i, sizeof(T)) == 0) continue;
      if constexpr (!std::is_integral_v<T>) {
        if (std::isnan(as_double(p[i])) && std::isnan(as_double(q[i]))) continue;
      }
      return i;
    }
    return -1;
  });
}

std::string compare(const Case& problem) {
  const Layout x_layout = layout_of(problem.extents, problem.x_strides);
  const Layout y_layout = problem.in_place ? x_layout : layout_of(problem.extents, problem.y_strides);
  const auto size = static_cast<std::int64_t>(size_of(problem.type));
  constexpr std::int64_t guard = 512;  // elements on both sides, so a stray access lands in compared memory
  const std::int64_t x_count = guard + problem.x_shift + x_layout.size + guard;
  const std::int64_t y_shift = problem.in_place ? problem.x_shift : problem.y_shift;
  const std::int64_t y_count = guard + y_shift + y_layout.size + guard;
  const auto x_bytes = make_data(problem.type, x_count, problem.fill, 7);
  auto expected = problem.in_place ? x_bytes : make_data(problem.type, y_count, Fill::normal, 8);
  auto actual = expected;
  const std::int64_t x_first = (guard + problem.x_shift - x_layout.low) * size;
  const std::int64_t y_first = problem.in_place ? x_first : (guard + y_shift - y_layout.low) * size;

  const TensorDescriptor host_y = descriptor<void*>(problem, expected.data() + y_first, y_layout);
  const ConstTensorDescriptor host_x =
      problem.in_place ? ConstTensorDescriptor(host_y)
                       : descriptor<const void*>(problem, x_bytes.data() + x_first, x_layout);
  hadamard(Kokkos::DefaultHostExecutionSpace{}, host_x, host_y, problem.options);

  HadamardOptions options = problem.options;
  const DeviceBuffer x(x_bytes.size());
  const DeviceBuffer y(actual.size());
  const DeviceBuffer signs(options.signs.values.size() + static_cast<std::size_t>(problem.sign_shift) + 1);
  require_cuda(cudaMemcpy(x.as(), x_bytes.data(), x_bytes.size(), cudaMemcpyHostToDevice));
  require_cuda(cudaMemcpy(y.as(), actual.data(), actual.size(), cudaMemcpyHostToDevice));
  if (!options.signs.values.empty()) {
    auto* const there = signs.as<std::int8_t>() + problem.sign_shift;
    require_cuda(
        cudaMemcpy(there, options.signs.values.data(), options.signs.values.size(), cudaMemcpyHostToDevice));
    options.signs.values = {there, options.signs.values.size()};
  }
  cudaStream_t stream = nullptr;
  const TensorDescriptor there_y = descriptor<void*>(problem, y.as<char>() + y_first, y_layout);
  const ConstTensorDescriptor there_x =
      problem.in_place ? ConstTensorDescriptor(there_y)
                       : descriptor<const void*>(problem, x.as<char>() + x_first, x_layout);
  hadamard(stream, there_x, there_y, options);
  require_cuda(cudaMemcpy(actual.data(), y.as(), actual.size(), cudaMemcpyDeviceToHost));
  std::vector<unsigned char> x_after(x_bytes.size());
  require_cuda(cudaMemcpy(x_after.data(), x.as(), x_after.size(), cudaMemcpyDeviceToHost));

  std::ostringstream text;
  const std::int64_t different = first_difference(problem.type, expected.data(), actual.data(), y_count);
  if (different >= 0) {
    text << "element " << different - (guard + y_shift - y_layout.low) * parts_of(problem.type) << " differs";
    with_type(part_of(problem.type), [&]<class T>(T) {
      text << ": " << as_double(reinterpret_cast<const T*>(actual.data())[different]) << ", expected "
           << as_double(reinterpret_cast<const T*>(expected.data())[different]);
    });
  }
  if (std::memcmp(x_after.data(), x_bytes.data(), x_bytes.size()) != 0) text << "; x was written";
  if (text.str().empty()) return {};
  text << " (" << name_of(problem.type) << ", extents";
  for (const std::int64_t extent : problem.extents) text << ' ' << extent;
  text << ")";
  return text.str();
}

}  // namespace papillon::test
