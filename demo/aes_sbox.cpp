// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Walsh spectrum of the AES S-box, whose largest entry gives the S-box's nonlinearity.
//
//   papillon-demo-aes-sbox FOLDER
//
// computes it with the C++ API and writes sbox_components.npy and sbox_spectrum.npy (int32, 255 x 256).

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <papillon/papillon.hpp>
#include <stdexcept>
#include <string>

#include "write_npy.hpp"

namespace {

using Array = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, section 4.2).
std::uint8_t multiply(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  unsigned shifted = a;
  for (int bit = 0; bit < 8; ++bit) {
    if (((b >> bit) & 1) != 0) product ^= shifted;
    shifted <<= 1;
    if ((shifted & 0x100u) != 0) shifted ^= 0x11bu;
  }
  return static_cast<std::uint8_t>(product);
}

/// The S-box by its definition (FIPS 197, section 5.1.1): the inverse in GF(2^8), 0 staying 0, then the
/// affine map b_i + b_{i+4} + b_{i+5} + b_{i+6} + b_{i+7} + c_i, which is a sum of rotations, with c = 63
/// (hex).
std::uint8_t sbox(std::uint8_t x) {
  std::uint8_t inverse = 1;  // x^254
  for (int i = 0; i < 254; ++i) inverse = multiply(inverse, x);
  std::uint8_t result = 0x63;
  for (int turn = 0; turn < 5; ++turn) result ^= std::rotl(inverse, turn);
  return result;
}

/// Stops unless the S-box is a permutation with the published entries (FIPS 197, table of section 5.1.1).
void check(const std::array<std::uint8_t, 256>& table) {
  constexpr std::array<std::array<int, 2>, 6> published = {
      {{0x00, 0x63}, {0x01, 0x7c}, {0x53, 0xed}, {0x9a, 0xb8}, {0xc9, 0xdd}, {0xff, 0x16}}};
  bool right = true;
  for (const auto& [x, value] : published) right = right && table[static_cast<std::size_t>(x)] == value;
  auto sorted = table;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) right = right && sorted[i] == i;
  if (!right) throw std::logic_error("the S-box is not the published one");
}

void run(const std::string& folder) {
  std::array<std::uint8_t, 256> table{};
  for (unsigned x = 0; x < 256; ++x) table[x] = sbox(static_cast<std::uint8_t>(x));
  check(table);

  // Row b - 1 is the component function x -> b·S(x) as ±1.
  Array components("components", 255, 256);
  for (unsigned b = 1; b < 256; ++b) {
    for (unsigned x = 0; x < 256; ++x) {
      components(b - 1, x) = std::popcount(b & table[x]) % 2 == 0 ? 1 : -1;
    }
  }
  Array spectrum("spectrum", 255, 256);
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::hadamard(space, components, spectrum);  // W(b, a) = sum over x of (-1)^(b·S(x) + a·x)
  space.fence();

  std::int32_t largest = 0;
  for (std::size_t b = 0; b < spectrum.extent(0); ++b) {
    for (std::size_t a = 0; a < spectrum.extent(1); ++a)
      largest = std::max(largest, std::abs(spectrum(b, a)));
  }
  std::printf("AES S-box, 255 component functions: max |W| = %d\n", largest);
  std::printf("nonlinearity %d\n", (256 - largest) / 2);
  write_npy(folder + "/sbox_components.npy", components);
  write_npy(folder + "/sbox_spectrum.npy", spectrum);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  try {
    run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "papillon-demo-aes-sbox: %s\n", error.what());
    return 1;
  }
  return 0;
}
