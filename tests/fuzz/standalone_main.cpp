// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small driver for fuzz targets where libFuzzer is not to be had (g++): mutates the given seed files for a
// number of seconds, then says how many inputs were tried. The random sequence is fixed, so failures repeat.
//
//   fuzz_npy [--seconds S] SEEDS...      files, or folders of files
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

/// One random change: a byte set, a bit flipped, a piece removed, doubled or taken from another seed, or a
/// number replaced by one that makes parsers fail.
void mutate(Bytes& input, const std::vector<Bytes>& seeds, std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(random() % (bound > 0 ? bound : 1));
  };
  const auto at = [&](std::size_t position) { return input.begin() + static_cast<std::ptrdiff_t>(position); };
  const std::size_t begin = below(input.size());
  const std::size_t length = below(std::min<std::size_t>(input.size() - begin, 16) + 1);
  switch (random() % 6) {
    case 0:
      if (!input.empty()) input[begin] = static_cast<std::uint8_t>(random());
      break;
    case 1:
      if (!input.empty()) input[begin] = static_cast<std::uint8_t>(input[begin] ^ (1u << below(8)));
      break;
    case 2:
      input.erase(at(begin), at(begin + length));
      break;
    case 3: {
      const Bytes piece(at(begin), at(begin + length));
      input.insert(at(below(input.size())), piece.begin(), piece.end());
      break;
    }
    case 4: {
      const Bytes& other = seeds[below(seeds.size())];
      const std::size_t from = below(other.size());
      const std::size_t count = below(std::min<std::size_t>(other.size() - from, 32) + 1);
      input.insert(at(begin), other.begin() + static_cast<std::ptrdiff_t>(from),
                   other.begin() + static_cast<std::ptrdiff_t>(from + count));
      break;
    }
    default: {
      static constexpr const char* words[] = {"9223372036854775807",
                                              "-1",
                                              "0",
                                              "4294967296",
                                              "'",
                                              "(",
                                              ")",
                                              ",",
                                              "{'shape': (",
                                              "True",
                                              ">",
                                              "|O",
                                              "L",
                                              "\xff\xff\xff\xff",
                                              "\"",
                                              "\\",
                                              "\\u0000",
                                              "{",
                                              "}",
                                              "[",
                                              "]",
                                              ":",
                                              "null",
                                              "1e3",
                                              "\"F4\"",
                                              "\"shape\":[",
                                              "\"data_offsets\":[0,",
                                              "\"__metadata__\":{"};
      const char* word = words[below(std::size(words))];
      input.insert(at(begin), word, word + std::strlen(word));
    }
  }
}

Bytes read(const std::filesystem::path& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read the seed %s\n", name.c_str());
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 60.0;
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
      continue;
    }
    if (std::filesystem::is_directory(argv[i])) {
      std::vector<std::filesystem::path> files;  // in order, so that runs repeat
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
      for (const std::filesystem::path& file : files) seeds.push_back(read(file));
    } else {
      seeds.push_back(read(argv[i]));
    }
  }
  if (seeds.empty()) seeds.emplace_back();

  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937_64 random(20240229);
  std::uint64_t tried = 0;
  for (const Bytes& seed : seeds) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  while (std::chrono::steady_clock::now() < end) {
    for (int burst = 0; burst < 1000; ++burst, ++tried) {
      Bytes input = seeds[static_cast<std::size_t>(random() % seeds.size())];
      for (std::uint64_t changes = random() % 4 + 1; changes > 0; --changes) mutate(input, seeds, random);
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::printf("%llu inputs tried\n", static_cast<unsigned long long>(tried));
  return 0;
}
