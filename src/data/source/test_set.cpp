#include "data/source/test_set.h"

#include <fstream>
#include <sstream>

#include "data/source/record_example.h"
#include "data/source/record_writer.h"

namespace trainyard::data {

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

void overwrite(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::remove(file);  // a new file: whoever has mapped the old one keeps it
  std::ofstream(file, std::ios::binary) << content;
}

std::string made_up_image(std::int64_t i) {
  return std::to_string(100'000'000 + i).substr(1) + std::string(static_cast<std::size_t>(i * 13 % 33), '#');
}

namespace {

// Makes an example that borrows the image's bytes.
ImageExample example_of(std::int64_t i, const std::string& image) {
  return {static_cast<std::int32_t>(i % 7), 4 + i % 3, 5, "png", image};
}

}  // namespace

std::string made_up_shard(std::int64_t records) {
  std::string bytes;
  for (std::int64_t i = 0; i < records; ++i) {
    const std::string image = made_up_image(i);
    append_frame(bytes, write_image_example(example_of(i, image)));
  }
  return bytes;
}

void write_made_up_set(const std::filesystem::path& folder, std::int64_t records, int shards) {
  RecordWriter writer({folder, "made-up", "train", shards, records});
  for (std::int64_t i = 0; i < records; ++i) {
    const std::string image = made_up_image(i);
    writer.add(example_of(i, image));
  }
  writer.finish();
}

}  // namespace trainyard::data
