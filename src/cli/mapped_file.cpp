// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace papillon::cli {

MappedFile::MappedFile(std::string name) : name_(std::move(name)) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer before we can refuse it.
  descriptor_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  try {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail(std::string("cannot be read: ") + std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail("is not a regular file");
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;  // an empty range cannot be mapped
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (address == MAP_FAILED) fail(std::string("cannot be mapped: ") + std::strerror(errno));
    data_ = static_cast<const std::byte*>(address);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  ::close(descriptor_);
}

void MappedFile::fail(const std::string& what) const { throw std::invalid_argument(name_ + ": " + what); }

void MappedFile::read(std::int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t count = ::pread(descriptor_, target.data(), target.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::runtime_error(name_ + ": cannot be read: " + std::strerror(errno));
    if (count == 0) throw std::runtime_error(name_ + ": was cut short by another program while it was read");
    offset += count;
    target = target.subspan(static_cast<std::size_t>(count));
  }
}

void MappedFile::release(std::int64_t offset, std::int64_t length) const {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t begin = offset / page * page;
  ::madvise(const_cast<std::byte*>(data_) + begin, static_cast<std::size_t>(offset + length - begin),
            MADV_DONTNEED);
}

}  // namespace papillon::cli
