// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which lengths exist, and what a refused call says.

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <papillon/papillon.hpp>
#include <string>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const Kokkos::View<float**, Kokkos::HostSpace> x("x", 3, 1000), odd("odd", 3, 999);
  std::string text;
  // [errors]
  if (papillon::hadamard_order_exists(1000)) papillon::hadamard(space, x, x);
  if (!papillon::hadamard_order_exists(999)) {
    try {
      papillon::hadamard(space, odd, odd);
    } catch (const std::invalid_argument& error) {
      text = error.what();  // names the length and the nearest offered ones; nothing was written
    }
  }
  const auto [order, power] = papillon::hadamard_factorization(1000);  // H_1000 = H_500 ⊗ H_2
  // [errors]
  std::printf("%s\n1000 = %d * 2^%d\n", text.c_str(), static_cast<int>(order), power);
  const bool named = text.find("999") != std::string::npos && text.find("996") != std::string::npos &&
                     text.find("1000") != std::string::npos;
  return named && (order << power) == 1000 ? 0 : 1;
}
