// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cases.hpp"

namespace papillon::perf {

/// Another library, asked to transform an array in place, without normalisation, on one thread.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  /// A function that transforms `data` in place, or none where the peer does not offer the case.
  virtual std::function<void()> prepare(const Case& what, void* data) = 0;
};

/// FFTW's discrete Hartley transform over 2 x 2 x … x 2, which is the Hadamard transform; null where the
/// build found no FFTW.
std::unique_ptr<Peer> fftw_peer();

/// The library `path`, exporting NAME_fht (see peer_api.hpp), given as "NAME=path". Throws
/// std::invalid_argument when it cannot be loaded.
std::unique_ptr<Peer> plugin_peer(const std::string& name_and_path);

/// Whether `peer` transforms small integers exactly as the definition says, for this case's scalar and
/// length. Nothing that computes something else is timed.
bool computes_hadamard(Peer& peer, const Case& what);

}  // namespace papillon::perf
