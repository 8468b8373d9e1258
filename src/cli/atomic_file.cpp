// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/atomic_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace papillon::cli {

namespace {

// What a signal handler may read: the name of the file to remove, while there is one.
char pending_name[PATH_MAX];
volatile std::sig_atomic_t pending = 0;

extern "C" void remove_and_die(int signal) {
  if (pending != 0) ::unlink(pending_name);
  if (signal == SIGBUS) {  // a mapped page that cannot be had: nothing else in this program causes it
    static constexpr char text[] =
        "papillon: a mapped file could not be read or written (cut short by another program, or a disk "
        "error)\n";
    if (::write(STDERR_FILENO, text, sizeof text - 1) < 0) ::_exit(2);
    ::_exit(2);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

constexpr int handled_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGBUS};

void install_handlers() {
  for (const int signal : handled_signals) {
    struct sigaction current{};
    if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) continue;  // nohup
    struct sigaction action{};
    action.sa_handler = remove_and_die;
    ::sigaction(signal, &action, nullptr);
  }
}

/// Keeps the handled signals away while a name and its registration change together.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : handled_signals) sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, &previous_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t previous_{};
};

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : name.substr(0, slash);
}

}  // namespace

void AtomicFile::check_name(const std::string& name, bool overwrite) {
  struct stat status{};
  if (::lstat(name.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode)) throw std::invalid_argument(name + ": exists and is not a regular file");
  if (!overwrite) throw std::invalid_argument(name + ": exists already (--force overwrites it)");
}

AtomicFile::AtomicFile(std::string name, std::int64_t size, bool overwrite)
    : name_(std::move(name)),
      folder_(folder_of(name_)),
      temporary_name_(folder_ + "/.papillon-XXXXXX"),
      overwrite_(overwrite),
      size_(static_cast<std::size_t>(size)) {
  check_name(name_, overwrite_);
  if (temporary_name_.size() >= sizeof pending_name) fail(std::strerror(ENAMETOOLONG));

  install_handlers();
  {
    const SignalsBlocked blocked;
    descriptor_ = ::mkostemp(temporary_name_.data(), O_CLOEXEC);
    if (descriptor_ >= 0) {
      std::memcpy(pending_name, temporary_name_.c_str(), temporary_name_.size() + 1);
      pending = 1;
    }
  }
  if (descriptor_ < 0) fail(std::string("cannot create a file in ") + folder_ + ": " + std::strerror(errno));

  try {
    reserve(size);
    void* const address = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (address == MAP_FAILED) fail(std::string("cannot be mapped: ") + std::strerror(errno));
    data_ = static_cast<std::byte*>(address);
  } catch (...) {
    discard();
    throw;
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::fail(const std::string& what) const { throw std::runtime_error(name_ + ": " + what); }

void AtomicFile::reserve(std::int64_t size) const {
  // Asked first, since reserving more than there is may fill the disk before it fails.
  struct statvfs disk{};
  if (::fstatvfs(descriptor_, &disk) == 0) {
    const std::uint64_t room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    if (static_cast<std::uint64_t>(size) > room) {
      fail("no space left on the disk: " + std::to_string(size) + " bytes needed, " + std::to_string(room) +
           " free");
    }
  }
  int error = 0;
  do {
    error = ::posix_fallocate(descriptor_, 0, size);  // else a full disk would be SIGBUS at some later store
  } while (error == EINTR);
  if (error != 0) fail("cannot reserve " + std::to_string(size) + " bytes: " + std::strerror(error));
}

void AtomicFile::write(std::int64_t offset, std::span<const std::byte> source) const {
  while (!source.empty()) {
    const ssize_t count = ::pwrite(descriptor_, source.data(), source.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(std::string("cannot be written: ") + std::strerror(errno));
    offset += count;
    source = source.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::flush(std::int64_t offset, std::int64_t length) const {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  ::sync_file_range(descriptor_, offset, length, SYNC_FILE_RANGE_WRITE);
  const std::int64_t begin = offset / page * page;
  ::madvise(data_ + begin, static_cast<std::size_t>(offset + length - begin), MADV_DONTNEED);
}

void AtomicFile::commit() {
  ::munmap(data_, size_);
  data_ = nullptr;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor_, 0666 & ~mask) != 0 || ::fsync(descriptor_) != 0) {
    fail(std::string("cannot be written: ") + std::strerror(errno));
  }
  const SignalsBlocked blocked;
  // Without leave to overwrite, a file that has appeared meanwhile must stay.
  int renamed = ::renameat2(AT_FDCWD, temporary_name_.c_str(), AT_FDCWD, name_.c_str(),
                            overwrite_ ? 0u : static_cast<unsigned>(RENAME_NOREPLACE));
  if (renamed != 0 && (errno == EINVAL || errno == ENOSYS) &&
      !overwrite_) {  // a file system without that flag
    renamed = ::link(temporary_name_.c_str(), name_.c_str());
    if (renamed == 0) ::unlink(temporary_name_.c_str());
  }
  if (renamed != 0) fail(std::string("cannot be put in place: ") + std::strerror(errno));
  pending = 0;
  ::close(descriptor_);
  descriptor_ = -1;
  if (const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);  // so that the new name survives a power failure; not all file systems can
    ::close(folder);
  }
}

void AtomicFile::discard() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
  if (descriptor_ < 0) return;
  const SignalsBlocked blocked;
  ::unlink(temporary_name_.c_str());
  pending = 0;
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace papillon::cli
