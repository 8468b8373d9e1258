// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "cli/commands.hpp"
#include "papillon/version.hpp"

namespace {

constexpr int usage_or_input_error = 2;

/// One line on standard error, whatever a file's name or contents brought into the message.
int report(std::string message) {
  constexpr std::string_view library_prefix = "papillon::";
  for (std::size_t at = message.find(library_prefix); at != std::string::npos;
       at = message.find(library_prefix)) {
    message.erase(at, library_prefix.size());
  }
  while (!message.empty() && message.back() == '\n') message.pop_back();
  for (char& c : message) {
    if (c == '\n') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  std::fprintf(stderr, "papillon: %s\n", message.c_str());
  return usage_or_input_error;
}

int run(int argc, char** argv) {
  CLI::App app("Structured linear operators on NumPy files, and quantisation", "papillon");
  app.set_version_flag("--version", "papillon " + std::string(papillon::version));
  app.require_subcommand(1);
  papillon::cli::add_hadamard_command(app);
  papillon::cli::add_kronecker_command(app);
  papillon::cli::add_butterfly_command(app);
  papillon::cli::add_gemm_command(app);
  papillon::cli::add_quantize_command(app);
  papillon::cli::add_dequantize_command(app);
  papillon::cli::add_explain_command(app);
  papillon::cli::add_info_command(app);
  papillon::cli::add_matrix_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);  // help, version
    return report(std::string(error.what()) + " (papillon --help tells the usage)");
  }
  std::cout.flush();
  return std::cout ? 0 : report("standard output cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that is reported
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return report("out of memory");
  } catch (const std::exception& error) {
    return report(error.what());
  }
}
