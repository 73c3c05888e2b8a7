#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "base/error.h"

namespace trainyard {

// Another process that answers every push of so many bytes with as many.
class Way {
 public:
  virtual ~Way() = default;
  virtual void exchange() = 0;
};

// Runs `work` in a process of its own, until this goes.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : id_(::fork()) {
    if (id_ != 0) return;
    try {
      work();
    } catch (const Error&) {  // the other side is done
    }
    ::_exit(0);
  }
  ~Child() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t id_;
};

inline std::string path_of(const char* name) {
  return (std::filesystem::temp_directory_path() / fmt::format("exchange.{}.{}", ::getpid(), name)).string();
}

// Connects a worker and a parameter server, in mode asp. All that an exchange of a training has is in it: the
// worker's own thread for talking, keys, checks for numbers that are not finite, the ledger, a new version in
// mapped memory. Only the update itself is missing: the new version is not computed.
std::unique_ptr<Way> make_parameter_server(const std::string& address, std::size_t bytes);

}  // namespace trainyard
