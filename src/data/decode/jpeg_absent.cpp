#include "base/error.h"
#include "data/decode/decode.h"

namespace trainyard::data {

namespace {

[[noreturn]] void fail_absent() {
  fail(ErrorKind::unsupported,
       "built without JPEG: install libjpeg-turbo (Debian: libjpeg62-turbo-dev) and build again");
}

}  // namespace

std::unique_ptr<EncodedImage> open_jpeg(std::span<const std::byte>) { fail_absent(); }

std::vector<std::byte> encode_jpeg(const Image&, int) { fail_absent(); }

bool jpeg_is_built() { return false; }

}  // namespace trainyard::data
