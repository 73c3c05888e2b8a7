#include "base/error.h"

namespace trainyard {

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
  }
  return "unknown";
}

void check_failed(const char* condition, const char* file, int line) {
  fail(ErrorKind::internal, "internal error: {} does not hold ({}:{})", condition, file, line);
}

}  // namespace trainyard
