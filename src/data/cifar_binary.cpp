#include "data/cifar_binary.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/labels.h"

namespace trainyard::data {
namespace {

// Calls visit(i, record) for each record. In pieces: memory does not grow with the file.
template <typename Visit>
void visit_records(const std::filesystem::path& path, std::int64_t records, const Visit& visit) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) fail(ErrorKind::config, "cannot read '{}': {}", path.string(), std::strerror(errno));
  if (const std::int64_t bytes = stream.tellg(); bytes != records * kCifarRecordBytes)
    fail(ErrorKind::config,
         "'{}': {} bytes found, {} expected ({} records of {} bytes, CIFAR-10 binary version)", path.string(),
         bytes, records * kCifarRecordBytes, records, kCifarRecordBytes);
  stream.seekg(0);
  constexpr std::int64_t kPiece = 256;
  std::vector<std::uint8_t> piece(static_cast<std::size_t>(kPiece * kCifarRecordBytes));
  for (std::int64_t i = 0; i < records; ++i) {
    if (i % kPiece == 0)
      stream.read(reinterpret_cast<char*>(piece.data()), std::min(kPiece, records - i) * kCifarRecordBytes);
    if (!stream) fail(ErrorKind::io, "reading '{}' broke off", path.string());
    visit(i, piece.data() + i % kPiece * kCifarRecordBytes);
  }
}

std::span<std::int32_t> label_rows(const HostTensor& labels, std::int64_t first, std::int64_t records) {
  TRAINYARD_CHECK(first >= 0 && first + records <= labels.elements());
  return labels.as<std::int32_t>().subspan(static_cast<std::size_t>(first),
                                           static_cast<std::size_t>(records));
}

}  // namespace

void read_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                       const HostTensor& labels, std::int64_t first) {
  const auto rows = label_rows(labels, first, records);
  visit_records(path, records, [&](std::int64_t i, const std::uint8_t* record) {
    rows[static_cast<std::size_t>(i)] = record[0];
    std::memcpy(images.data() + (first + i) * kCifarImageBytes, record + 1, kCifarImageBytes);
  });
  check_labels(rows, kCifarClasses, path);
}

void read_cifar_labels(const std::filesystem::path& path, std::int64_t records, const HostTensor& labels,
                       std::int64_t first) {
  const auto rows = label_rows(labels, first, records);
  visit_records(path, records, [&](std::int64_t i, const std::uint8_t* record) {
    rows[static_cast<std::size_t>(i)] = record[0];
  });
  check_labels(rows, kCifarClasses, path);
}

void write_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                        const HostTensor& labels, std::int64_t first) {
  TRAINYARD_CHECK(first >= 0 && first + records <= labels.elements());
  std::vector<std::byte> content(static_cast<std::size_t>(records * kCifarRecordBytes));
  for (std::int64_t i = 0; i < records; ++i) {
    std::byte* record = content.data() + i * kCifarRecordBytes;
    record[0] = static_cast<std::byte>(labels.as<std::int32_t>()[static_cast<std::size_t>(first + i)]);
    std::memcpy(record + 1, images.data() + (first + i) * kCifarImageBytes, kCifarImageBytes);
  }
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace trainyard::data
