#include "base/error.h"

namespace trainyard {
namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return text;
}

// The message with names of settings as they are, or as options.
std::string settings_shown(const std::string& message, bool as_options) {
  std::string shown;
  bool in_name = false;
  for (const char c : message) {
    if (c == kSettingBegin && as_options) shown += "--";
    if (c == kSettingBegin || c == kSettingEnd)
      in_name = c == kSettingBegin;
    else
      shown += in_name && as_options && c == '_' ? '-' : c;
  }
  return shown;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error(one_line(settings_shown(message, false))),
      kind_(kind),
      with_options_(one_line(settings_shown(message, true))) {}

const char* name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::config:
      return "config";
    case ErrorKind::shape:
      return "shape";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::io:
      return "io";
    case ErrorKind::peer:
      return "peer";
    case ErrorKind::device:
      return "device";
    case ErrorKind::internal:
      return "internal";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "unknown";
}

void check_failed(const char* condition, const char* file, int line) {
  fail(ErrorKind::internal, "internal error: {} does not hold ({}:{})", condition, file, line);
}

}  // namespace trainyard
