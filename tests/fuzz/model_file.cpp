#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/error.h"
#include "predict/gnn/model_file.h"

namespace {

void read(const std::string& file) {
  try {
    trainyard::predict::parse_model_file(std::as_bytes(std::span(file.data(), file.size())), "fuzz");
  } catch (const trainyard::Error& error) {
    if (error.kind() != trainyard::ErrorKind::config) __builtin_trap();
  }
}

// A file with this header, its checksum made right, and some bytes of tensors: what a checksum would else
// hide.
std::string with_header(const std::string& header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(header, nullptr, false);
  if (!json.is_object()) return "";
  json.erase("manifest_crc32c");
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception&) {
    return "";  // no UTF-8
  }
  json["manifest_crc32c"] = trainyard::crc32c(text.data(), text.size());
  text = json.dump();
  const std::uint32_t version[] = {1, 0};
  const std::uint64_t bytes = text.size();
  std::string file = "TRAINYARD MODEL\n";
  file.append(reinterpret_cast<const char*>(version), sizeof version);
  file.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return file + text + std::string(28, '\0');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  read(input);
  read(with_header(input));
  return 0;
}
