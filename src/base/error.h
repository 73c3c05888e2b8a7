#pragma once

#include "base/standard.h"
#include "trainyard/error.h"  // Error and its kinds, which users of the library see

namespace trainyard {

// Control characters that stand around the name of a Setting until an Error is made of the message.
inline constexpr char kSettingBegin = '\x01', kSettingEnd = '\x02';

// A setting in a message, by its name ("decay_steps"). Error::what() has the bare name; a command line shows
// the option that it makes of it ("--decay-steps").
struct Setting {
  std::string_view name;
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
