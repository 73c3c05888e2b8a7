#include "predict/gnn/model_file.h"

#include <bit>
#include <cstring>
#include <set>
#include <string_view>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "engine/checkpoint_manifest.h"

namespace trainyard::predict {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr std::string_view kMagic = "TRAINYARD MODEL\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPrefixBytes = 32;  // magic, version, zero, bytes of the header
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{1} << 24;

template <typename T>
T number_at(std::span<const std::byte> file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

// The manifest of a well-formed file, and where its tensors begin.
std::pair<engine::CheckpointManifest, std::size_t> read_header(std::span<const std::byte> file,
                                                               const std::string& who) {
  if (file.size() < kPrefixBytes || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    fail(ErrorKind::config, "'{}': is no model file", who);
  if (const auto version = number_at<std::uint32_t>(file, 16); version != kVersion)
    fail(ErrorKind::config, "'{}': version {} of a model file, {} expected", who, version, kVersion);
  const auto header_bytes = number_at<std::uint64_t>(file, 24);
  if (number_at<std::uint32_t>(file, 20) != 0 || header_bytes > kMostHeaderBytes)
    fail(ErrorKind::config, "'{}': is damaged: its header would have {} bytes", who, header_bytes);
  if (header_bytes > file.size() - kPrefixBytes)
    fail(ErrorKind::config, "'{}': is cut short in its header", who);
  const std::string text(reinterpret_cast<const char*>(file.data()) + kPrefixBytes,
                         static_cast<std::size_t>(header_bytes));
  return {engine::parse_manifest(text, who), kPrefixBytes + static_cast<std::size_t>(header_bytes)};
}

}  // namespace

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  engine::CheckpointManifest manifest;
  manifest.header.network = model.kind;
  manifest.header.asked = model.settings;
  for (const NamedTensor& tensor : model.tensors) {
    TRAINYARD_CHECK(tensor.shape.elements() == static_cast<std::int64_t>(tensor.numbers.size()));
    const std::size_t bytes = tensor.numbers.size() * sizeof(float);
    manifest.tensors.push_back({tensor.name,
                                graph::Role::parameter,
                                {tensor.shape, DType::f32},
                                manifest.tensors_bytes,
                                crc32c(tensor.numbers.data(), bytes)});
    manifest.tensors_bytes += static_cast<std::int64_t>(bytes);
  }
  const std::string header = engine::manifest_to_text(manifest);
  const std::uint32_t version[] = {kVersion, 0};
  const std::uint64_t header_bytes = header.size();
  AtomicFile file(path);
  file.write(kMagic);
  file.write(version, sizeof version);
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header);
  for (const NamedTensor& tensor : model.tensors)
    file.write(tensor.numbers.data(), tensor.numbers.size() * sizeof(float));
  file.commit();
}

ModelFile parse_model_file(std::span<const std::byte> file, const std::string& who) {
  const auto [manifest, begin] = read_header(file, who);
  const auto available = static_cast<std::int64_t>(file.size() - begin);
  if (available != manifest.tensors_bytes)
    fail(ErrorKind::config, "'{}': is {}: {} bytes of tensors found, {} expected", who,
         available < manifest.tensors_bytes ? "cut short" : "too long", available, manifest.tensors_bytes);
  ModelFile model{manifest.header.network, manifest.header.asked, {}};
  std::set<std::string> names;
  std::int64_t end = 0;
  for (const engine::StoredTensor& stored : manifest.tensors) {
    const std::int64_t bytes = stored.type.bytes();
    if (stored.type.dtype != DType::f32 || stored.offset != end || bytes > available - end ||
        !names.insert(stored.name).second)
      fail(ErrorKind::config, "'{}': is damaged: tensor '{}' is not in its place", who, stored.name);
    const std::byte* from = file.data() + begin + static_cast<std::size_t>(end);
    if (crc32c(from, static_cast<std::size_t>(bytes)) != stored.crc32c)
      fail(ErrorKind::config, "'{}': is damaged: checksum mismatch in tensor '{}'", who, stored.name);
    NamedTensor tensor{stored.name, stored.type.shape,
                       std::vector<float>(static_cast<std::size_t>(stored.type.shape.elements()))};
    if (bytes > 0) std::memcpy(tensor.numbers.data(), from, static_cast<std::size_t>(bytes));
    model.tensors.push_back(std::move(tensor));
    end += bytes;
  }
  if (end != available) fail(ErrorKind::config, "'{}': is damaged: bytes behind its tensors", who);
  return model;
}

ModelFile read_model_file(const std::filesystem::path& path) {
  return parse_model_file(read_file(path), path.string());
}

}  // namespace trainyard::predict
