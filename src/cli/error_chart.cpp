// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/error_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <string_view>

namespace papillon::cli {

namespace {

constexpr double plot_left = 70, plot_top = 50, plot_height = 320, bar_width = 16, group_gap = 22;

// From light to dark, so that the order of the bars shows without colour too.
constexpr std::array<std::string_view, 7> colours = {"#bdbdbd", "#fdd49e", "#fdbb84", "#fc8d59",
                                                     "#e34a33", "#b30000", "#4a1486"};

/// The text as it stands in an XML document.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return result;
}

bool is_shown(const std::optional<double>& value) { return value && *value > 0 && std::isfinite(*value); }

/// The logarithmic axis: whole decades around all values.
struct Axis {
  int lowest = 0;
  int highest = 0;

  explicit Axis(const BarChart& chart) {
    double least = INFINITY, most = 0;
    for (const auto& group : chart.values) {
      for (const auto& value : group) {
        if (!is_shown(value)) continue;
        least = std::min(least, *value);
        most = std::max(most, *value);
      }
    }
    if (most == 0) least = most = 1;
    lowest = static_cast<int>(std::floor(std::log10(least)));
    highest = std::max(static_cast<int>(std::ceil(std::log10(most))), lowest + 1);
  }
  double place(double value) const {
    return plot_top + plot_height * (highest - std::log10(value)) / (highest - lowest);
  }
};

void draw_text(std::ostringstream& svg, double x, double y, std::string_view anchor, std::string_view text) {
  svg << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << escaped(text)
      << "</text>\n";
}

void draw_axis(std::ostringstream& svg, const BarChart& chart, const Axis& axis, double right) {
  for (int decade = axis.lowest; decade <= axis.highest; ++decade) {
    for (int digit = 1; digit <= (decade < axis.highest ? 9 : 1); ++digit) {
      const double value = digit * std::pow(10.0, decade);
      const double y = axis.place(value);
      svg << "<line x1=\"" << plot_left << "\" x2=\"" << right << "\" y1=\"" << y << "\" y2=\"" << y
          << "\" stroke=\"" << (digit == 1 ? "#999" : "#e5e5e5") << "\"/>\n";
      if (digit > 1 && digit != 2 && digit != 5) continue;
      std::ostringstream label;
      label << value;
      draw_text(svg, plot_left - 6, y + 4, "end", label.str());
    }
  }
  svg << "<text transform=\"translate(16 " << plot_top + plot_height / 2
      << ") rotate(-90)\" text-anchor=\"middle\">" << escaped(chart.value_name) << "</text>\n";
}

void draw_bars(std::ostringstream& svg, const BarChart& chart, const Axis& axis, double group_width) {
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double left = plot_left + group_gap / 2 + static_cast<double>(g) * group_width;
    for (std::size_t b = 0; b < chart.bars.size(); ++b) {
      const std::optional<double>& value = chart.values[g][b];
      if (!is_shown(value)) continue;
      const double top = axis.place(*value);
      svg << "<rect x=\"" << left + static_cast<double>(b) * bar_width << "\" y=\"" << top << "\" width=\""
          << bar_width - 2 << "\" height=\"" << plot_top + plot_height - top << "\" fill=\""
          << colours[b % colours.size()] << "\"><title>" << escaped(chart.groups[g]) << ", "
          << escaped(chart.bars[b]) << ": " << *value << "</title></rect>\n";
    }
    draw_text(svg, left + (group_width - group_gap) / 2, plot_top + plot_height + 18, "middle",
              chart.groups[g]);
  }
}

void draw_legend(std::ostringstream& svg, const BarChart& chart) {
  const double y = plot_top + plot_height + 40;
  double x = plot_left;
  for (std::size_t b = 0; b < chart.bars.size(); ++b) {
    svg << "<rect x=\"" << x << "\" y=\"" << y - 10 << "\" width=\"12\" height=\"12\" fill=\""
        << colours[b % colours.size()] << "\"/>\n";
    draw_text(svg, x + 16, y, "start", chart.bars[b]);
    x += 34 + 7 * static_cast<double>(chart.bars[b].size());
  }
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  const double group_width = static_cast<double>(chart.bars.size()) * bar_width + group_gap;
  const double right = plot_left + std::max(group_width * static_cast<double>(chart.groups.size()), 420.0);
  const Axis axis(chart);
  std::ostringstream svg;
  svg << std::setprecision(6) << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << right + 20
      << "\" height=\"" << plot_top + plot_height + 60
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  svg << "<text x=\"" << plot_left << "\" y=\"28\" font-size=\"15\">" << escaped(chart.title) << "</text>\n";
  draw_axis(svg, chart, axis, right);
  draw_bars(svg, chart, axis, group_width);
  draw_legend(svg, chart);
  svg << "</svg>\n";
  return svg.str();
}

}  // namespace papillon::cli
