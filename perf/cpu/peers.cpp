// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peers.hpp"

#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "../peer_api.hpp"
#include "papillon/core/half.hpp"
#if defined(PAPILLON_PERF_FFTW)
#include <fftw3.h>
#endif

namespace papillon::perf {
namespace {

#if defined(PAPILLON_PERF_FFTW)
class Fftw final : public Peer {
 public:
  std::string name() const override { return "fftw"; }

  std::function<void()> prepare(const Case& what, void* data) override {
    if (what.scalar == ScalarType::float32) return plan<float>(what, data);
    if (what.scalar == ScalarType::float64) return plan<double>(what, data);
    return {};
  }

 private:
  template <class Real>
  static std::function<void()> plan(const Case& what, void* data) {
    const std::vector<int> lengths(static_cast<std::size_t>(what.log2_n), 2);
    const std::vector<fftw_r2r_kind> kinds(lengths.size(), FFTW_DHT);
    const int n = 1 << what.log2_n;
    const auto rows = static_cast<int>(what.rows());
    auto* values = static_cast<Real*>(data);
    if constexpr (std::is_same_v<Real, float>) {
      auto* made = fftwf_plan_many_r2r(what.log2_n, lengths.data(), rows, values, nullptr, 1, n, values,
                                       nullptr, 1, n, kinds.data(), FFTW_ESTIMATE);
      if (made == nullptr) return {};
      const std::shared_ptr<void> owner(made,
                                        [](void* p) { fftwf_destroy_plan(static_cast<fftwf_plan>(p)); });
      return [owner] { fftwf_execute(static_cast<fftwf_plan>(owner.get())); };
    } else {
      auto* made = fftw_plan_many_r2r(what.log2_n, lengths.data(), rows, values, nullptr, 1, n, values,
                                      nullptr, 1, n, kinds.data(), FFTW_ESTIMATE);
      if (made == nullptr) return {};
      const std::shared_ptr<void> owner(made, [](void* p) { fftw_destroy_plan(static_cast<fftw_plan>(p)); });
      return [owner] { fftw_execute(static_cast<fftw_plan>(owner.get())); };
    }
  }
};
#endif

class Plugin final : public Peer {
 public:
  Plugin(std::string name, PeerFunction function) : name_(std::move(name)), function_(function) {}
  std::string name() const override { return name_; }

  std::function<void()> prepare(const Case& what, void* data) override {
    int dtype = 0;
    switch (what.scalar) {
      case ScalarType::float32:
        dtype = 0;
        break;
      case ScalarType::float16:
        dtype = 1;
        break;
      case ScalarType::bfloat16:
        dtype = 2;
        break;
      case ScalarType::float64:
        dtype = 3;
        break;
      default:
        return {};
    }
    const long rows = what.rows();
    const int n = 1 << what.log2_n;
    // Asked once, on no rows' worth of risk: a peer that declines must do so before it writes.
    if (function_(data, data, rows, n, dtype, 1.0F, nullptr) != 0) return {};
    return [this, data, rows, n, dtype] { function_(data, data, rows, n, dtype, 1.0F, nullptr); };
  }

 private:
  std::string name_;
  PeerFunction function_;
};

template <class T>
bool check(Peer& peer, const Case& what) {
  const std::int64_t n = std::int64_t{1} << what.log2_n;
  const Case small{what.scalar, 2 * n * static_cast<std::int64_t>(sizeof(T)), what.log2_n};
  std::vector<T> data(static_cast<std::size_t>(2 * n), T(0.0F));
  // Two unit vectors: the transform of e_q is column q of H, whatever n; preparing may write, so fill after
  // it.
  const std::function<void()> run = peer.prepare(small, data.data());
  if (!run) return false;
  const std::array<std::int64_t, 2> unit = {n / 3, n - 1};
  std::fill(data.begin(), data.end(), T(0.0F));
  data[static_cast<std::size_t>(unit[0])] = T(1.0F);
  data[static_cast<std::size_t>(n + unit[1])] = T(1.0F);
  run();
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto q = static_cast<std::uint64_t>(unit[static_cast<std::size_t>(r)]);
      const float expected = std::popcount(static_cast<std::uint64_t>(j) & q) % 2 == 0 ? 1.0F : -1.0F;
      if (static_cast<float>(data[static_cast<std::size_t>(r * n + j)]) != expected) return false;
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<Peer> fftw_peer() {
#if defined(PAPILLON_PERF_FFTW)
  return std::make_unique<Fftw>();
#else
  return nullptr;
#endif
}

std::unique_ptr<Peer> plugin_peer(const std::string& name_and_path) {
  const std::size_t equals = name_and_path.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw std::invalid_argument("--plugin takes NAME=path, not '" + name_and_path + "'");
  }
  const std::string name = name_and_path.substr(0, equals);
  const std::string path = name_and_path.substr(equals + 1);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::invalid_argument("--plugin: cannot load '" + path + "': " + dlerror());
  void* symbol = dlsym(library, (name + "_fht").c_str());
  if (symbol == nullptr) throw std::invalid_argument("--plugin: '" + path + "' exports no " + name + "_fht");
  return std::make_unique<Plugin>(name, reinterpret_cast<PeerFunction>(symbol));
}

bool computes_hadamard(Peer& peer, const Case& what) {
  switch (what.scalar) {
    case ScalarType::float32:
      return check<float>(peer, what);
    case ScalarType::float64:
      return check<double>(peer, what);
    case ScalarType::float16:
      return check<half>(peer, what);
    case ScalarType::bfloat16:
      return check<bfloat16>(peer, what);
    default:
      return false;
  }
}

}  // namespace papillon::perf
