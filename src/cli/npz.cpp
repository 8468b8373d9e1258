// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/npz.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "cli/file_checks.hpp"
#include "cli/mapped_file.hpp"

#ifdef PAPILLON_HAS_LIBZIP
#include <zip.h>
#endif

namespace papillon::cli {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The digits at the front of `text`, without leading zeros, are taken off it.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

void check_count(const std::string& name, std::size_t count, std::size_t most) {
  if (count == 0) refuse(name, "holds no .npy files");
  if (count > most) {
    refuse(name, "holds ", count, " arrays; at most ", most, " are taken");
  }
}

std::vector<LoadedArray> load_folder(const std::string& name, std::size_t most) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(name, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string file = entry->path().filename().string();
    if (file.ends_with(".npy") && !file.starts_with('.')) files.push_back(std::move(file));
  }
  if (error) refuse(name, "cannot be read: " + error.message());
  check_count(name, files.size(), most);
  std::sort(files.begin(), files.end(), naturally_less);
  std::vector<LoadedArray> arrays;
  for (const std::string& file : files)
    arrays.push_back(load_npy((std::filesystem::path(name) / file).string()));
  return arrays;
}

#ifdef PAPILLON_HAS_LIBZIP

std::string text_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

/// An archive in memory, open for reading.
class Archive {
 public:
  explicit Archive(const MappedFile& file) : name_(file.name()) {
    if (file.bytes().empty()) refuse(name_, "is neither a folder nor a readable .npz file: it is empty");
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(file.bytes().data(), file.bytes().size(), 0, &error);
    if (source != nullptr) zip_ = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (zip_ == nullptr) {
      if (source != nullptr) zip_source_free(source);
      refuse(name_, "is neither a folder nor a readable .npz file: " + text_of(&error));
    }
    zip_error_fini(&error);
  }
  ~Archive() { zip_discard(zip_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    const std::int64_t count = zip_get_num_entries(zip_, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const char* name = zip_get_name(zip_, static_cast<zip_uint64_t>(i), 0);
      if (name == nullptr) refuse(name_, "entry " + std::to_string(i) + ": " + zip_strerror(zip_));
      result.emplace_back(name);
    }
    return result;
  }

  /// What an entry holds. Memory is taken as data come, not as the archive promises them.
  std::vector<std::byte> read(const std::string& entry) const {
    const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(zip_fopen(zip_, entry.c_str(), 0),
                                                                  &zip_fclose);
    if (!file) refuse(label(entry), zip_strerror(zip_));
    std::vector<std::byte> bytes;
    constexpr std::size_t step = std::size_t{1} << 20;
    for (;;) {
      const std::size_t before = bytes.size();
      bytes.resize(before + step);
      const std::int64_t count = zip_fread(file.get(), bytes.data() + before, step);
      if (count < 0) refuse(label(entry), zip_file_strerror(file.get()));
      bytes.resize(before + static_cast<std::size_t>(count));
      if (count == 0) return bytes;
    }
  }

  std::string label(const std::string& entry) const { return name_ + ": " + entry; }

 private:
  std::string name_;
  zip_t* zip_ = nullptr;
};

std::vector<LoadedArray> load_archive(const std::string& name, std::size_t most) {
  const MappedFile file(name);
  const Archive archive(file);
  std::vector<std::string> entries = archive.names();
  for (const std::string& entry : entries) {
    if (!entry.ends_with(".npy")) refuse(archive.label(entry), "is no .npy file");
  }
  check_count(name, entries.size(), most);
  std::sort(entries.begin(), entries.end(), naturally_less);
  if (const auto twice = std::adjacent_find(entries.begin(), entries.end()); twice != entries.end())
    refuse(archive.label(*twice), "comes twice");
  std::vector<LoadedArray> arrays;
  for (const std::string& entry : entries) {
    const std::vector<std::byte> bytes = archive.read(entry);
    LoadedArray array{archive.label(entry), read_npy_header(bytes, archive.label(entry)), {}};
    array.elements.assign(bytes.begin() + array.header.data_offset, bytes.end());
    arrays.push_back(std::move(array));
  }
  return arrays;
}

#else

std::vector<LoadedArray> load_archive(const std::string& name, std::size_t) {
  const MappedFile file(name);
  throw std::runtime_error(name +
                           ": this build cannot read .npz files, since it was configured without libzip; "
                           "give a folder of .npy files");
}

#endif

}  // namespace

bool naturally_less(std::string_view a, std::string_view b) {
  const std::pair whole(a, b);  // factor_1 and factor_01 differ in nothing else
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view left = take_number(a), right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a.front() != b.front())
      return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty() ? whole.first < whole.second : a.empty();
}

std::vector<LoadedArray> load_arrays(const std::string& name, std::size_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) return load_folder(name, most);
  return load_archive(name, most);
}

}  // namespace papillon::cli
