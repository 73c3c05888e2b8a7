#pragma once

#include "base/error.h"

namespace trainyard::cli {

// What a shell or a study can tell apart.
inline constexpr int kCallerCanMendIt = 1, kRunFailed = 2, kInterrupted = 130;

inline int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::config:
    case ErrorKind::shape:
    case ErrorKind::unsupported:
      return kCallerCanMendIt;
    case ErrorKind::io:
    case ErrorKind::peer:
    case ErrorKind::device:
    case ErrorKind::internal:
      return kRunFailed;
    case ErrorKind::interrupted:
      return kInterrupted;
  }
  return kRunFailed;
}

}  // namespace trainyard::cli
