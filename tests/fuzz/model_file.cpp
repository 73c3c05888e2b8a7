#include "predict/gnn/model_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "fuzz/targets.h"

namespace trainyard::fuzz {
namespace {

void read_model(std::string_view bytes) {
  predict::parse_model_file(std::as_bytes(std::span(bytes)), "fuzz");
}

// A file with this header, its checksum made right, and some bytes of tensors: what a checksum would else
// hide.
std::string with_header(std::string_view header) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(header, nullptr, false);
  if (!json.is_object()) return "";
  json.erase("manifest_crc32c");
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception&) {
    return "";  // no UTF-8
  }
  json["manifest_crc32c"] = crc32c(text.data(), text.size());
  text = json.dump();
  const std::uint32_t version[] = {1, 0};
  const std::uint64_t bytes = text.size();
  std::string file = "TRAINYARD MODEL\n";
  file.append(reinterpret_cast<const char*>(version), sizeof version);
  file.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return file + text + std::string(28, '\0');
}

}  // namespace

std::vector<std::string> model_file_seeds() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("trainyard-fuzz-" + std::to_string(::getpid()) + ".model");
  predict::ModelFile model{.kind = "gnn", .settings = {{"rounds", "3"}}, .tensors = {}};
  model.tensors.push_back({.name = "weight", .shape = {2, 3}, .numbers = {1, 2, 3, 4, 5, 6}});
  predict::write_model_file(path, model);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return {bytes};
}

void fuzz_model_file(std::string_view bytes) {
  expect_error_or_result("model_file", read_model, bytes);
  const std::string right = with_header(bytes);
  if (!right.empty()) expect_error_or_result("model_file", read_model, right);
}

}  // namespace trainyard::fuzz
