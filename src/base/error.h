#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace trainyard {

// Control characters that stand around the name of a Setting until an Error is made of the message.
inline constexpr char kSettingBegin = '\x01', kSettingEnd = '\x02';

// An error kind says who must act on the error; the command line maps it to an exit code.
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

// A setting in a message, by its name ("decay_steps"). Error::what() has the bare name; a command line shows
// the option that it makes of it ("--decay-steps").
struct Setting {
  std::string_view name;
};

// Code throws an Error where a person or a caller must act. The message is one line: the source of the error,
// the given value, the allowed values. The given value may hold anything: its control characters are shown as
// '?'.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  ErrorKind kind() const { return kind_; }
  // what(), with every Setting as an option of the command line.
  const std::string& with_options() const { return with_options_; }

 private:
  ErrorKind kind_;
  std::string with_options_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace trainyard

template <>
struct fmt::formatter<trainyard::Setting> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const trainyard::Setting& setting, Context& context) const {
    return fmt::format_to(context.out(), "{}{}{}", trainyard::kSettingBegin, setting.name,
                          trainyard::kSettingEnd);
  }
};

// This macro checks internal invariants only: no user input may reach one.
#define TRAINYARD_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::trainyard::check_failed(#condition, __FILE__, __LINE__))
