#include "train/loop/run_folder.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/test_folder.h"

namespace trainyard::train {
namespace {

// A reader of its own for what TensorBoard reads, bit by bit rather than with the writer's tables.
std::uint32_t slow_masked_crc(const unsigned char* data, std::size_t bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (std::size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

struct Field {
  int wire;
  std::uint64_t number;  // varint, fixed32, fixed64
  std::string bytes;
};
using Message = std::multimap<int, Field>;

Message parse(const std::string& text) {
  Message message;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at(at++));
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  };
  while (at < text.size()) {
    const std::uint64_t key = varint();
    Field field{static_cast<int>(key & 7), 0, ""};
    const std::size_t fixed = field.wire == 1 ? 8 : field.wire == 5 ? 4 : 0;
    if (field.wire == 0) field.number = varint();
    if (fixed > 0) std::memcpy(&field.number, text.substr(at, fixed).data(), fixed);
    if (field.wire == 2) {
      const std::uint64_t length = varint();
      field.bytes = text.substr(at, length);
      at += length;
    }
    at += fixed;
    message.emplace(static_cast<int>(key >> 3), field);
  }
  return message;
}

std::vector<Message> read_events(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_file(path);
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  std::vector<Message> events;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::uint32_t length_sum = 0, data_sum = 0;
    std::memcpy(&length, bytes + at, 8);
    std::memcpy(&length_sum, bytes + at + 8, 4);
    EXPECT_EQ(length_sum, slow_masked_crc(bytes + at, 8));
    at += 12;
    EXPECT_LE(at + length + 4, file.size());
    std::memcpy(&data_sum, bytes + at + length, 4);
    EXPECT_EQ(data_sum, slow_masked_crc(bytes + at, length));
    events.push_back(parse({reinterpret_cast<const char*>(bytes + at), length}));
    at += length + 4;
  }
  return events;
}

float as_float(std::uint64_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(Events, ReaderAgreesWithKnownVectors) {
  // From RFC 3720, B.4, masked as TFRecord does.
  const unsigned char zeros[32] = {};
  EXPECT_EQ(crc32c(zeros, 32), 0x8A9136AAu);
  EXPECT_EQ(slow_masked_crc(zeros, 32), (0x8A9136AAu >> 15 | 0x8A9136AAu << 17) + 0xA282EAD8u);
  // The masked CRC of the length of a 24-byte record, which is the first in a file. It was computed
  // independently of this code.
  const unsigned char length[8] = {24};
  EXPECT_EQ(slow_masked_crc(length, 8), 0x224B7FA3u);
}

TEST(Events, ComeBackThroughAnIndependentReader) {
  const TestFolder folder;
  std::filesystem::path path;
  {
    EventFile file(folder.path(), 40);
    path = file.path();
    EXPECT_TRUE(path.filename().string().starts_with("events.out.tfevents."));
    const Scalar both[] = {{"loss", 2.5f}, {"learning_rate", 1e-3f}};
    file.add(40, both);
    const Scalar one[] = {{"accuracy", 0.75f}};
    file.add(300, one);
  }
  const std::vector<Message> events = read_events(path);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].find(3)->second.bytes, "brain.Event:2");
  double wall = 0;
  std::memcpy(&wall, &events[0].find(1)->second.number, sizeof wall);
  EXPECT_GT(wall, 1.6e9);
  EXPECT_EQ(events[1].find(2)->second.number, 40u);
  EXPECT_EQ(parse(events[1].find(7)->second.bytes).find(1)->second.number, 1u) << "session start";
  const Message summary = parse(events[2].find(5)->second.bytes);
  ASSERT_EQ(summary.count(1), 2u);
  const Message loss = parse(summary.find(1)->second.bytes);
  EXPECT_EQ(loss.find(1)->second.bytes, "loss");
  EXPECT_EQ(loss.find(2)->second.wire, 5);
  EXPECT_EQ(as_float(loss.find(2)->second.number), 2.5f);
  EXPECT_EQ(events[3].find(2)->second.number, 300u) << "a step of two bytes";
}

TEST(Events, EachSessionHasItsOwnFile) {
  const TestFolder folder;
  const EventFile first(folder.path(), 0), second(folder.path(), 0);
  EXPECT_NE(first.path(), second.path());
}

TEST(Events, FolderThatIsNotThereIsNamed) {
  expect_error(ErrorKind::io, "cannot write '/no/such/folder/events.out.tfevents.",
               [] { EventFile("/no/such/folder", 0); });
}

}  // namespace
}  // namespace trainyard::train
