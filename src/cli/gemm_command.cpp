// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/gemm.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/axis_command.hpp"
#include "cli/commands.hpp"
#include "cli/file_checks.hpp"
#include "cli/gemm_call.hpp"
#include "cli/gpu.hpp"
#include "cli/kokkos_session.hpp"
#include "cli/mapped_array.hpp"
#include "cli/npy_output.hpp"

namespace papillon::cli {

namespace {

struct Arguments : RunArguments {
  std::string a;
  std::string b;
  std::string output;
  std::string alpha = "1";
  std::string beta = "0";
  std::string c;
  GemmArguments gemm;
};

/// "RE" or "RE,IM"; none for any other text.
std::optional<std::complex<double>> complex_number(const std::string& text) {
  const std::size_t comma = text.find(',');
  double real = 0;
  double imaginary = 0;
  const auto number = [](const std::string& part, double& value) {
    return !part.empty() && CLI::detail::lexical_cast(part, value);
  };
  if (!number(text.substr(0, comma), real)) return std::nullopt;
  if (comma != std::string::npos && !number(text.substr(comma + 1), imaginary)) return std::nullopt;
  return std::complex<double>(real, imaginary);
}

CLI::Validator is_complex_number() {
  return CLI::Validator(
      [](const std::string& text) {
        return complex_number(text) ? std::string() : "'" + text + "' is no number, RE or RE,IM";
      },
      "");
}

/// What is to be computed: C of the output file, which holds C0 where that takes part.
struct Call {
  std::complex<double> alpha;
  ConstTensorDescriptor a;
  ConstTensorDescriptor b;
  std::complex<double> beta;
  TensorDescriptor c;
  GemmOptions options;

  detail::GemmProblem problem() const { return detail::make_gemm_problem(alpha, a, b, beta, c, options); }
};

/// Whether the GPU computes, which has no complex products.
bool gpu_for(const std::string& device, ScalarType type) {
  if (!is_complex(type)) return use_gpu(device, "gemm");
  if (device == "cuda") {
    throw std::invalid_argument("--device cuda: A holds " + std::string(name_of(type)) +
                                "; products of complex numbers run on the CPU");
  }
  return false;
}

void run_call(const Call& call, bool on_gpu) {
  if (on_gpu) return gemm_on_gpu(call.alpha, call.a, call.b, call.beta, call.c, call.options);
  const Kokkos::DefaultHostExecutionSpace space;
  gemm(space, call.alpha, call.a, call.b, call.beta, call.c, call.options);
  space.fence("papillon: product of matrices");
}

std::string explain_call(const Call& call, bool on_gpu) {
  return on_gpu ? explain_on_gpu(call.problem())
                : generic::explain_gemm<Kokkos::DefaultHostExecutionSpace>(call.problem());
}

void print_time(const detail::GemmProblem& problem, double seconds) {
  const double operations = 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                            static_cast<double>(problem.k) * static_cast<double>(problem.batch);
  char text[96];
  std::snprintf(text, sizeof text, "time: %.4g us, %.4g operations of a classical product a second\n",
                seconds * 1e6, operations / seconds);
  std::cout << text;
}

/// The checks of the library, before there is an output.
void check_call(Call call, const std::string& operands) {
  // Of the pointer only the address is looked at: no array of a file lies there.
  alignas(64) static std::byte placeholder[64];
  call.c.data = placeholder;
  try {
    call.problem();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(operands + ": " + error.what());
  }
}

void multiply(const Arguments& arguments) {
  AtomicFile::check_name(arguments.output, arguments.force);
  const std::vector<BilinearAlgorithm> tables = tables_of(arguments.gemm);
  const MappedArray a(arguments.a);
  const MappedArray b(arguments.b);
  NpyHeader made = product_header(a.header(), a.name(), b.header(), b.name(), arguments.gemm);
  std::optional<MappedArray> c0;
  if (!arguments.c.empty()) {
    const NpyHeader& given = c0.emplace(arguments.c).header();
    if (given.shape != made.shape || given.type != made.type)
      refuse(c0->name(), describe(given), " but the product is ", describe(made));
    made.fortran_order = given.fortran_order;
  }
  Call call{*complex_number(arguments.alpha),
            a.descriptor(),
            b.descriptor(),
            *complex_number(arguments.beta),
            describe_array(made, *library_type(made.type), nullptr),
            options_of(arguments.gemm, tables)};
  check_call(call, a.name() + " and " + b.name());
  const bool on_gpu = gpu_for(arguments.device, a.type());

  NpyOutput output(arguments.output, made, arguments.force);
  if (c0 && call.beta != 0.0 && made.data_bytes() > 0)
    std::memcpy(output.data(), c0->data(), static_cast<std::size_t>(made.data_bytes()));
  call.c.data = output.data();
  const KokkosSession kokkos(arguments.threads);
  const auto begin = std::chrono::steady_clock::now();
  run_call(call, on_gpu);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  output.commit();
  std::cout << explain_call(call, on_gpu);
  print_time(call.problem(), time.count());
}

void run(const Arguments& arguments) {
  try {
    multiply(arguments);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(arguments.a + " and " + arguments.b + ": out of memory while multiplying");
  }
}

}  // namespace

void add_gemm_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "gemm",
      "multiply matrices, or batches of them: C = alpha op(A) op(B) + beta C0, classically or by Strassen");
  command
      ->add_option("a", arguments->a,
                   "NumPy file of 2 or 3 axes: f2 f4 f8 c8 c16, or bfloat16 as 2-byte void")
      ->required()
      ->check(not_empty())
      ->type_name("A.npy");
  command->add_option("b", arguments->b, "likewise, of the same type")
      ->required()
      ->check(not_empty())
      ->type_name("B.npy");
  command->add_option("-o,--output", arguments->output, "the file to write, in C order, or in that of C0")
      ->required()
      ->check(not_empty())
      ->type_name("C.npy");
  command->add_option("--alpha", arguments->alpha, "multiplies the product")
      ->check(is_complex_number())
      ->type_name("RE[,IM]")
      ->capture_default_str();
  CLI::Option* beta = command->add_option("--beta", arguments->beta, "multiplies C0; 0: C0 is not read")
                          ->check(is_complex_number())
                          ->type_name("RE[,IM]")
                          ->capture_default_str();
  CLI::Option* c = command->add_option("--c", arguments->c, "what is added, of the product's type and shape")
                       ->check(not_empty())
                       ->type_name("C0.npy")
                       ->needs(beta);
  beta->needs(c);
  add_gemm_options(*command, arguments->gemm);
  add_run_options(*command, *arguments);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace papillon::cli
