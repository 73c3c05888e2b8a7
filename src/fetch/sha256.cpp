#include "fetch/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

#include <fmt/core.h>

#include "base/error.h"

namespace trainyard::fetch {

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

}  // namespace trainyard::fetch
