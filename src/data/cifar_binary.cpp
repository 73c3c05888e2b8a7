#include "data/cifar_binary.h"

#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/labels.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kRecordBytes = 1 + kCifarImageBytes;

}  // namespace

void read_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                       const HostTensor& labels, std::int64_t first) {
  TRAINYARD_CHECK(first >= 0 && first + records <= labels.elements());
  const std::vector<std::byte> content = read_file(path);
  if (static_cast<std::int64_t>(content.size()) != records * kRecordBytes)
    fail(ErrorKind::config,
         "'{}': {} bytes found, {} expected ({} records of {} bytes, CIFAR-10 binary version)", path.string(),
         content.size(), records * kRecordBytes, records, kRecordBytes);
  const auto label_values =
      labels.as<std::int32_t>().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(records));
  for (std::int64_t i = 0; i < records; ++i) {
    const std::byte* record = content.data() + i * kRecordBytes;
    label_values[static_cast<std::size_t>(i)] = std::to_integer<std::int32_t>(record[0]);
    std::memcpy(images.data() + (first + i) * kCifarImageBytes, record + 1, kCifarImageBytes);
  }
  check_labels(label_values, kCifarClasses, path);
}

void write_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                        const HostTensor& labels, std::int64_t first) {
  TRAINYARD_CHECK(first >= 0 && first + records <= labels.elements());
  std::vector<std::byte> content(static_cast<std::size_t>(records * kRecordBytes));
  for (std::int64_t i = 0; i < records; ++i) {
    std::byte* record = content.data() + i * kRecordBytes;
    record[0] = static_cast<std::byte>(labels.as<std::int32_t>()[static_cast<std::size_t>(first + i)]);
    std::memcpy(record + 1, images.data() + (first + i) * kCifarImageBytes, kCifarImageBytes);
  }
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace trainyard::data
