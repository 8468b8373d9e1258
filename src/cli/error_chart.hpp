// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace papillon::cli {

/// Groups of bars, on a logarithmic axis.
struct BarChart {
  std::string title;
  std::string value_name;
  std::vector<std::string> groups;  ///< below the bars
  std::vector<std::string> bars;    ///< of every group, in the legend
  /// Of groups, of bars; none, or what is not positive and finite, is a gap.
  std::vector<std::vector<std::optional<double>>> values;
};

/// The chart as an SVG document.
std::string to_svg(const BarChart& chart);

}  // namespace papillon::cli
