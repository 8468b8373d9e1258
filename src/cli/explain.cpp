// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain.hpp"

#include <iostream>

#include "cli/commands.hpp"
#include "cli/mapped_file.hpp"
#include "cli/npy.hpp"

namespace papillon::cli {

void add_dtype_option(CLI::App& command, std::string& dtype) {
  command.add_option("--dtype", dtype, "f2 bf16 f4 f8 i4 i8 c8 c16")
      ->check(scalar_type_name())
      ->capture_default_str();
}

void add_arch_option(CLI::App& command, std::string& arch) {
  command.add_option("--arch", arch, "the architecture")
      ->check(CLI::IsMember({"cpu", "sm_90", "sm_100"}))
      ->capture_default_str();
}

void add_explained_array(CLI::App& command, ExplainedArray& array) {
  CLI::Option* input = command.add_option("--input", array.input, "shape and element type of this file")
                           ->check(not_empty())
                           ->type_name("IN.npy");
  command.add_option("--shape", array.shape, "the shape of the array: 1000,64; one vector if not given")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(at_least_one())
      ->excludes(input);
  command.add_option("--axis", array.axis, "the axis to multiply; negative counts from the last")
      ->check(integer())
      ->capture_default_str();
  add_dtype_option(command, array.dtype);
  command.get_option("--dtype")->excludes(input);
  add_arch_option(command, array.arch);
}

void read_explained_input(ExplainedArray& array) {
  if (array.input.empty()) return;
  const MappedFile file(array.input);
  const NpyHeader header = read_npy_header(file.bytes(), array.input);
  require_library_rank(header, array.input);
  array.dtype = name_of(require_library_type(header, array.input));
  array.shape = header.shape;
}

void print_explanation(const ExplainedArray& array, const std::function<std::string()>& on_gpu,
                       const std::function<std::string()>& generic) {
  const bool on_cpu = array.arch == "cpu";
  const std::string gpu = on_cpu ? std::string{} : on_gpu();
  std::cout << (gpu.empty() ? generic() : gpu);
  if (gpu.empty() && !on_cpu)
    std::cout << "backend: the generic Kokkos kernel; this build has no CUDA backend\n";
}

}  // namespace papillon::cli
