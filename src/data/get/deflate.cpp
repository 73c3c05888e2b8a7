#include "data/get/deflate.h"

#include <zlib.h>

#include "base/error.h"

namespace trainyard::data {

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> stream(size);
  const int code = compress2(reinterpret_cast<Bytef*>(stream.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  TRAINYARD_CHECK(code == Z_OK);
  stream.resize(size);
  return stream;
}

std::vector<std::byte> inflated(std::span<const std::byte> stream, std::size_t most) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in unsigned
  if (stream.size() > kMostAtOnce) throw std::invalid_argument("a stream of more than 1 GiB");
  z_stream state{};
  TRAINYARD_CHECK(inflateInit(&state) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&state, inflateEnd);
  state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stream.data()));
  state.avail_in = static_cast<uInt>(stream.size());
  std::vector<std::byte> bytes;
  int code = Z_OK;
  while (code == Z_OK) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPiece);
    state.next_out = reinterpret_cast<Bytef*>(bytes.data() + before);
    state.avail_out = static_cast<uInt>(kPiece);
    code = inflate(&state, Z_NO_FLUSH);
    bytes.resize(before + kPiece - state.avail_out);
    if (bytes.size() > most) throw std::invalid_argument("a stream that holds too much");
  }
  if (code != Z_STREAM_END || state.avail_in > 0) throw std::invalid_argument("a stream that is damaged");
  return bytes;
}

}  // namespace trainyard::data
