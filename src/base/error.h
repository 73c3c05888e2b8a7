#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace trainyard {

// Who must act on the error; the command line maps it to an exit code.
enum class ErrorKind {
  usage,        // the command line is wrong
  config,       // a file or value the user gave is wrong
  shape,        // a network does not fit together
  unsupported,  // asked for something this build or backend has not
  io,           // the system failed: disk full, no network, permission
  peer,         // another process failed or vanished
  device,       // an accelerator failed
  internal,     // our own invariant broke
  interrupted,  // somebody asked to stop, and nothing is left to be kept
};

const char* name(ErrorKind kind);

// Thrown where a person or a caller must act. The message is one line: who, what was given, what is allowed.
// What was given may hold anything: control characters of it are shown as '?'.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace trainyard

// For our own invariants only: no user input may reach one.
#define TRAINYARD_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::trainyard::check_failed(#condition, __FILE__, __LINE__))
