#include "data/get/gzip_file.h"

#include <cerrno>
#include <fstream>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/error.h"

namespace trainyard::data {

GzipFile::GzipFile(std::filesystem::path path) : path_(std::move(path)), file_(nullptr) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored))
    fail(ErrorKind::config, "cannot read '{}': it is a folder", path_.string());
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr) fail(ErrorKind::config, "cannot read '{}': {}", path_.string(), std::strerror(errno));
  gzbuffer(file_, 1 << 18);
}

GzipFile::~GzipFile() { gzclose(file_); }

std::size_t GzipFile::read(void* destination, std::size_t bytes) {
  constexpr std::size_t kMaxRead = std::size_t{1} << 30;  // gzread counts in int
  std::size_t done = 0;
  while (done < bytes) {
    const int got = gzread(file_, static_cast<char*>(destination) + done,
                           static_cast<unsigned>(std::min(bytes - done, kMaxRead)));
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    // A stream cut short is reported as Z_BUF_ERROR beside a read that looks like the end of the file.
    if (got < 0 || code == Z_BUF_ERROR)
      fail(code == Z_ERRNO ? ErrorKind::io : ErrorKind::config, "cannot read '{}': {}", path_.string(),
           code == Z_BUF_ERROR ? "its gzip stream is cut short"
                               : (code == Z_ERRNO ? std::strerror(errno) : reason));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

namespace {

void check(int result) {
  if (result != 1) fail(ErrorKind::internal, "SHA-256: OpenSSL failed");
}

}  // namespace

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t bytes) {
  check(EVP_DigestUpdate(state_->context, data, bytes));
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  check(EVP_DigestFinal_ex(state_->context, digest, &length));
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(ErrorKind::io, "cannot read '{}'", path.string());
  Sha256 sum;
  std::vector<char> piece(std::size_t{1} << 20);
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())) || stream.gcount() > 0)
    sum.update(piece.data(), static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) fail(ErrorKind::io, "reading '{}' broke off", path.string());
  return sum.hex();
}

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
