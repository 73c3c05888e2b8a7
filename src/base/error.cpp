#include "base/error.h"

namespace trainyard {
namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error(one_line(message)), kind_(kind) {}

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
