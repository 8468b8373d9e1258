// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/quantize_study.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/atomic_file.hpp"
#include "cli/error_chart.hpp"
#include "cli/file_checks.hpp"
#include "cli/kokkos_session.hpp"
#include "cli/progress_bar.hpp"
#include "cli/quantized_tensor.hpp"
#include "papillon/core/block_scale.hpp"
#include "papillon/quantization_error.hpp"
#include "papillon/version.hpp"

namespace papillon::cli {

namespace {

using nlohmann::json;

/// Channels whose root mean square is this many times the median are called outliers.
constexpr double outlier_factor = 6;

/// One format with one rotation, measured on one tensor.
struct Cell {
  QuantizeOptions options;
  std::optional<QuantizationError> error;  ///< none where the rotation does not fit
  double normal_channels = 0;              ///< relative L2 without the outlier channels
};

/// Formats by rotations.
struct Table {
  const StoredTensor* tensor = nullptr;
  std::vector<std::vector<Cell>> cells;
  std::vector<std::size_t> outliers;  ///< channels
};

/// Settings that belong to one kind of format are left out of the others.
QuantizeOptions options_for(BlockFormat format, std::int64_t rotation, const StudySettings& settings) {
  QuantizeOptions options = settings.options;
  options.format = format;
  options.rotation = rotation;
  if (rotation != 0) options.signs.seed = settings.seed;
  if (!detail::has_float_scales(format)) options.block = 0;
  const ScaleRule rule = options.scale_rule;
  const bool of_nvfp4 = rule == ScaleRule::divide || rule == ScaleRule::transformer_engine;
  const bool of_mx = rule == ScaleRule::ocp || rule == ScaleRule::round_up;
  if ((format == BlockFormat::nvfp4) != of_nvfp4 || detail::is_mx(format) != of_mx)
    options.scale_rule = ScaleRule::automatic;
  if (detail::has_float_scales(format) && options.block == 0) options.block_shape = BlockShape::vector;
  options.scale_layout = ScaleLayout::row_major;  // changes no value
  return options;
}

std::string rotation_name(std::int64_t rotation) {
  return rotation == 0 ? "none" : rotation == whole_axis ? "row" : std::to_string(rotation);
}

double bits_per_value(const QuantizationError& error) {
  const QuantizedLayout& layout = error.layout;
  const double values = static_cast<double>(layout.rows) * static_cast<double>(layout.columns);
  return values > 0 ? 8 * static_cast<double>(layout.payload_bytes + layout.scale_bytes) / values : 0;
}

/// The channels of x that are far larger than most.
std::vector<std::size_t> outlier_channels(const QuantizationError& error) {
  std::vector<double> norms = error.channel_squared_norm;
  std::vector<std::size_t> outliers;
  if (norms.empty()) return outliers;
  const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
  std::nth_element(norms.begin(), middle, norms.end());
  const double limit = *middle * outlier_factor * outlier_factor;
  for (std::size_t c = 0; c < norms.size() && limit > 0; ++c)
    if (error.channel_squared_norm[c] > limit) outliers.push_back(c);
  return outliers;
}

double error_without(const QuantizationError& error, const std::vector<std::size_t>& channels) {
  double squared_error = 0, norm = 0;
  for (std::size_t c = 0; c < error.channel_squared_error.size(); ++c) {
    if (std::ranges::binary_search(channels, c)) continue;
    squared_error += error.channel_squared_error[c];
    norm += error.channel_squared_norm[c];
  }
  return squared_error > 0 ? std::sqrt(squared_error / norm) : 0;
}

/// What the cell holds for the reader: a figure, or a dash.
using Figure = std::optional<double>;

class Study {
 public:
  Study(const TensorFile& input, const std::vector<const StoredTensor*>& tensors,
        const StudySettings& settings)
      : input_(input), formats_(settings.formats), rotations_(settings.rotations) {
    if (formats_.empty())
      formats_ = {BlockFormat::nvfp4,      BlockFormat::mxfp4,    BlockFormat::int4,
                  BlockFormat::mxfp8_e4m3, BlockFormat::fp8_e4m3, BlockFormat::int8};
    const bool all_rotations = rotations_.empty();
    if (all_rotations) rotations_ = {0, 16, 32, 64, 128, 256, whole_axis};
    for (const StoredTensor* tensor : tensors) plan(*tensor, settings);
    drop_rotations_without_tensors(all_rotations);
  }

  void measure() {
    std::int64_t total = 0, done = 0;
    for (const Table& table : tables_) total += table.tensor->bytes;
    ProgressBar bar(total);
    for (Table& table : tables_) {
      measure(table);
      bar.update(done += table.tensor->bytes);
    }
  }

  std::string text() const {
    std::string text;
    for (const Table& table : tables_) {
      text +=
          (input_.is_npy ? input_.file.name() : table.tensor->name) + ": " + table.tensor->description + "\n";
      text += text_of(
          "relative L2 error", [&](std::size_t f, std::size_t r) { return relative_l2(table.cells[f][r]); },
          &table);
      if (!table.outliers.empty()) {
        const std::string title = "without the " + std::to_string(table.outliers.size()) +
                                  " outlier channel" + (table.outliers.size() > 1 ? "s" : "");
        text += text_of(
            title,
            [&](std::size_t f, std::size_t r) -> Figure {
              const Cell& cell = table.cells[f][r];
              return cell.error ? Figure(cell.normal_channels) : std::nullopt;
            },
            nullptr);
      }
      text += "\n";
    }
    if (tables_.size() > 1) {
      text += "All " + std::to_string(tables_.size()) + " tensors\n";
      text += text_of("geometric mean", [&](std::size_t f, std::size_t r) { return mean(f, r); }, nullptr);
    }
    return text;
  }

  json to_json() const {
    json all = {{"papillon", version}, {"input", input_.file.name()}, {"tensors", json::array()}};
    for (const Table& table : tables_) {
      json tensor = {{"name", table.tensor->name},
                     {"dtype", name_of(*table.tensor->type)},
                     {"shape", table.tensor->shape},
                     {"outlier_channels", table.outliers},
                     {"sets", json::array()}};
      for (const auto& row : table.cells)
        for (const Cell& cell : row)
          if (cell.error) tensor["sets"].push_back(to_json(cell));
      all["tensors"].push_back(std::move(tensor));
    }
    return all;
  }

  BarChart chart() const {
    BarChart chart;
    chart.title = tables_.size() == 1 ? "Quantisation error of " + tables_[0].tensor->description
                                      : "Quantisation error, geometric mean of " +
                                            std::to_string(tables_.size()) + " tensors";
    chart.value_name = "relative L2 error";
    for (const BlockFormat format : formats_) chart.groups.emplace_back(name_of(format));
    for (const std::int64_t rotation : rotations_)
      chart.bars.push_back(rotation == 0 ? "not rotated" : "rotated by " + rotation_name(rotation));
    for (std::size_t f = 0; f < formats_.size(); ++f) {
      chart.values.emplace_back();
      for (std::size_t r = 0; r < rotations_.size(); ++r) chart.values[f].push_back(mean(f, r));
    }
    return chart;
  }

 private:
  /// Finds out what the tensor can be quantised with. Options that do not even fit without a rotation are an
  /// error.
  void plan(const StoredTensor& tensor, const StudySettings& settings) {
    Table& table = tables_.emplace_back();
    table.tensor = &tensor;
    for (const BlockFormat format : formats_) {
      describe_quantized(input_, tensor, options_for(format, 0, settings));
      std::vector<Cell>& row = table.cells.emplace_back();
      for (const std::int64_t rotation : rotations_) {
        Cell& cell = row.emplace_back();
        cell.options = options_for(format, rotation, settings);
        try {
          describe_quantized(input_, tensor, cell.options);
          cell.error.emplace();
        } catch (const std::invalid_argument& error) {
          why_not_ = error.what();
        }
      }
    }
  }

  void drop_rotations_without_tensors(bool all_rotations) {
    for (std::size_t r = rotations_.size(); r-- > 0;) {
      const bool used = std::ranges::any_of(
          tables_, [&](const Table& table) { return table.cells.front()[r].error.has_value(); });
      if (used) continue;
      if (!all_rotations) throw std::invalid_argument(why_not_);
      rotations_.erase(rotations_.begin() + static_cast<std::ptrdiff_t>(r));
      for (Table& table : tables_)
        for (auto& row : table.cells) row.erase(row.begin() + static_cast<std::ptrdiff_t>(r));
    }
  }

  void measure(Table& table) const {
    std::vector<QuantizeOptions> options;
    for (const auto& row : table.cells)
      for (const Cell& cell : row)
        if (cell.error) options.push_back(cell.options);
    const TensorElements x(input_, *table.tensor);
    std::vector<QuantizationError> errors = quantization_error(Kokkos::DefaultHostExecutionSpace{}, x.array(),
                                                               std::span<const QuantizeOptions>(options));
    if (!errors.empty()) table.outliers = outlier_channels(errors.front());
    auto next = errors.begin();
    for (auto& row : table.cells) {
      for (Cell& cell : row) {
        if (!cell.error) continue;
        cell.normal_channels = error_without(*next, table.outliers);
        cell.error = std::move(*next++);
        cell.error->channel_squared_error = {};
        cell.error->channel_squared_norm = {};
      }
    }
  }

  static Figure relative_l2(const Cell& cell) {
    return cell.error ? Figure(cell.error->relative_l2) : std::nullopt;
  }

  /// The geometric mean over the tensors, each counting the same; none unless all have it.
  Figure mean(std::size_t f, std::size_t r) const {
    double logarithms = 0;
    for (const Table& table : tables_) {
      const Figure figure = relative_l2(table.cells[f][r]);
      if (!figure) return std::nullopt;
      logarithms += std::log(*figure);
    }
    return std::exp(logarithms / static_cast<double>(tables_.size()));
  }

  /// A line for each format, an asterisk at its least error. With `sizes` the bits of a value too.
  template <class FigureOf>
  std::string text_of(const std::string& title, const FigureOf& figure_of, const Table* sizes) const {
    char field[64];
    std::snprintf(field, sizeof field, "  %-40s", title.c_str());
    std::string text = field;
    for (const std::int64_t rotation : rotations_) {
      std::snprintf(field, sizeof field, " %8s ", rotation_name(rotation).c_str());
      text += field;
    }
    text += "\n";
    for (std::size_t f = 0; f < formats_.size(); ++f) {
      std::string label(name_of(formats_[f]));
      if (sizes != nullptr) {
        const auto measured =
            std::ranges::find_if(sizes->cells[f], [](const Cell& cell) { return bool(cell.error); });
        if (measured != sizes->cells[f].end()) {
          std::snprintf(field, sizeof field, ", %.3g bits", bits_per_value(*measured->error));
          label += field;
        }
      }
      std::snprintf(field, sizeof field, "    %-38s", label.c_str());
      text += field;
      Figure least;
      for (std::size_t r = 0; r < rotations_.size(); ++r) {
        const Figure figure = figure_of(f, r);
        if (figure && !(least && *least <= *figure)) least = figure;
      }
      for (std::size_t r = 0; r < rotations_.size(); ++r) {
        const Figure figure = figure_of(f, r);
        if (figure) {
          std::snprintf(field, sizeof field, " %8.5f%c", *figure, figure == least ? '*' : ' ');
        } else {
          std::snprintf(field, sizeof field, " %8s ", "-");
        }
        text += field;
      }
      while (text.back() == ' ') text.pop_back();
      text += "\n";
    }
    return text;
  }

  static json to_json(const Cell& cell) {
    const QuantizationError& error = *cell.error;
    json set = {{"format", name_of(cell.options.format)},
                {"rotation", rotation_name(cell.options.rotation)},
                {"bits_per_value", bits_per_value(error)},
                {"relative_l2", error.relative_l2},
                {"relative_l2_without_outlier_channels", cell.normal_channels},
                {"largest_absolute", error.largest_absolute},
                {"signal_to_noise_db", error.signal_to_noise},
                {"nan", error.statistics.nan},
                {"infinite", error.statistics.infinite},
                {"saturated", error.statistics.saturated},
                {"zero_scale_blocks", error.statistics.zero_scale_blocks},
                {"nonfinite_inputs", error.nonfinite_inputs},
                {"nonfinite_results", error.nonfinite_results}};
    if (cell.options.signs.seed) set["seed"] = *cell.options.signs.seed;
    return set;
  }

  const TensorFile& input_;
  std::vector<BlockFormat> formats_;
  std::vector<std::int64_t> rotations_;
  std::vector<Table> tables_;
  std::string why_not_;
};

void write_text(const std::string& name, const std::string& text, bool force) {
  AtomicFile output(name, static_cast<std::int64_t>(text.size()), force);
  std::memcpy(output.bytes().data(), text.data(), text.size());
  output.commit();
}

}  // namespace

void run_study(const TensorFile& input, const std::vector<const StoredTensor*>& tensors,
               const StudySettings& settings) {
  if (!settings.json.empty()) AtomicFile::check_name(settings.json, settings.force);
  if (!settings.chart.empty()) AtomicFile::check_name(settings.chart, settings.force);
  if (!settings.chart.empty() && !settings.chart.ends_with(".svg"))
    refuse(settings.chart, "--chart writes SVG files, whose names end in .svg");
  Study study(input, tensors, settings);
  {
    const KokkosSession kokkos(settings.threads);
    study.measure();
  }
  if (!settings.json.empty()) write_text(settings.json, study.to_json().dump(1) + "\n", settings.force);
  if (!settings.chart.empty()) write_text(settings.chart, to_svg(study.chart()), settings.force);
  std::fputs(study.text().c_str(), stdout);
}

}  // namespace papillon::cli
