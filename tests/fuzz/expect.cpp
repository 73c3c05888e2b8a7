#include <stdexcept>

#include "base/error.h"
#include "fuzz/targets.h"

namespace trainyard::fuzz {

void expect_error_or_result(const char* target, void (*read)(std::string_view), std::string_view bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    if (std::string_view(error.what()).find('\n') != std::string_view::npos)
      throw std::logic_error(std::string(target) + ": an error of several lines: " + error.what());
  }
}

}  // namespace trainyard::fuzz
