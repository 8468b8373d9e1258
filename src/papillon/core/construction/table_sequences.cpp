// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/construction/tables.hpp"

namespace papillon::detail {

// R. J. Turyn, "Hadamard matrices, Baumert-Hall units, four-symbol sequences, pulse compression, and surface
// wave encodings", J. Combin. Theory A 16 (1974) 313-333.
std::span<const FourSequences> turyn_table() {
  static constexpr FourSequences table[] = {
      {2, {"+-", "++", "+", "+"}},
      {3, {"+++", "++-", "+-", "+-"}},
      {4, {"++--", "++-+", "+++", "+-+"}},
      {5, {"++-++", "++++-", "++--", "+-+-"}},
      {6, {"+++---", "++-+-+", "++-++", "++-++"}},
      {7, {"+++-+++", "++---+-", "++-+--", "++-+--"}},
      {15, {"++-+++-+-+++-++", "+++-++---++-++-", "++++--+-++----", "+----+-+-++++-"}},
  };
  return table;
}

// Lengths to 32: D. Best, D. Z. Dokovic, H. Kharaghani and H. Ramp, "Turyn-type sequences: classification,
// conjectures and constructions", J. Combin. Des. 21 (2013) 24-35. Length 36, which gives order 428: H.
// Kharaghani and B. Tayfeh-Rezaie, "A Hadamard matrix of order 428", J. Combin. Des. 13 (2005) 435-440.
std::span<const FourSequences> turyn_type_table() {
  static constexpr FourSequences table[] = {
      {6, {"+++-++", "++---+", "++-+--", "+++-+"}},
      {12, {"++++--+---++", "+++--+++-+-+", "++++-++-++--", "++++--+-+-+"}},
      {16, {"++++++--++--++++", "++++--+--+-----+", "++++--+-+-+-++--", "++++--++-+-+--+"}},
      {18, {"+++++++--++-+---++", "++++---++++-+-++-+", "++++--++--+++-+-+-", "+++++--+--+--+-+-"}},
      {22,
       {"+++++-+++-++----+++-++", "+++++--++--++++----+-+", "+++++--+-+-+-+-++-++--",
        "+++++--+++--+-+--+--+"}},
      {24,
       {"+++++-+-+--+--+-+-----++", "++++++--+-+++--+---+++-+", "+++++--+-+---++--+++-+--",
        "+++++--+++-+-++-++--+-+"}},
      {28,
       {"+++++++---+-++++---+++++--++", "+++++-----+--+-++++--++-++-+", "+++++--++---++--+--+-+-+--+-",
        "++++++-+-+-+-++--+-++---++-"}},
      {30,
       {"++++++-++-+++---+++-++----+-++", "++++++--++++--+--+-++--+++-+-+", "++++++--+-++--+++----+-+-+-++-",
        "++++++--+--++---++-++-+-+-+--"}},
      {36,
       {"+++----++-+-+-----++++-++-++++----+-", "+-+++++--+-+--+--++--++++-++++---++-",
        "+-+++++-+--++++-+++-++--+++-+--+---+", "+++-+-----++--+-+++--+-+-+++-++++-+"}},
  };
  return table;
}

}  // namespace papillon::detail
