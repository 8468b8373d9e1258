// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The oracle's FP8 codes, one float32 a line, all in hexadecimal: its bits, E4M3 without and with saturation,
// E5M2 without. check_torch_casts.py compares them with PyTorch's casts.
#include <cstdio>

#include "support/interesting_floats.hpp"

int main() {
  using papillon_test::oracle::Element;
  for (const Element element : {Element::e4m3, Element::e5m2})
    for (const float value : papillon_test::interesting_floats(element))
      std::printf("%08x %02x %02x %02x\n", std::bit_cast<std::uint32_t>(value),
                  papillon_test::oracle::encode(Element::e4m3, value, false),
                  papillon_test::oracle::encode(Element::e4m3, value, true),
                  papillon_test::oracle::encode(Element::e5m2, value, false));
}
