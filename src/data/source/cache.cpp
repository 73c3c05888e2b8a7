#include "data/source/cache.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/get/gzip_file.h"
#include "data/source/dataset.h"

namespace trainyard::data {

namespace {

constexpr int kSchema = 1;
constexpr const char* kManifest = "manifest.json";

}  // namespace

std::int64_t CacheEntry::bytes() const {
  std::int64_t total = 0;
  for (const CachedFile& file : files) total += file.bytes;
  return total;
}

std::optional<CacheEntry> find_manifest(const std::filesystem::path& folder, const std::string& name) {
  CacheEntry entry;
  entry.name = name;
  entry.folder = folder;
  if (!std::filesystem::is_regular_file(entry.folder / kManifest)) return std::nullopt;
  try {
    const std::vector<std::byte> content = read_file(entry.folder / kManifest);
    const auto* text = reinterpret_cast<const char*>(content.data());
    const nlohmann::json json = nlohmann::json::parse(text, text + content.size());
    if (json.at("schema") != kSchema || json.at("name") != name) return std::nullopt;
    entry.source = json.at("source");
    for (const auto& dim : json.at("image_shape")) {
      if (entry.image_shape.rank() == 3) return std::nullopt;
      entry.image_shape.append(dim);
    }
    entry.classes = json.at("classes");
    entry.train_images = json.at("train_images");
    entry.test_images = json.at("test_images");
    for (const auto& file : json.at("files"))
      entry.files.push_back({file.at("name"), file.at("bytes"), file.at("sha256")});
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return entry;
}

std::optional<CacheEntry> find_in_cache(const std::filesystem::path& cache, const std::string& name) {
  return find_manifest(cache / name, name);
}

bool verify(const CacheEntry& entry) {
  for (const CachedFile& file : entry.files) {
    const std::filesystem::path path = entry.folder / file.name;
    std::error_code code;
    if (std::filesystem::file_size(path, code) != static_cast<std::uintmax_t>(file.bytes) || code)
      return false;
    if (data::sha256_of_file(path) != file.sha256) return false;
  }
  return !entry.files.empty();
}

CacheEntry write_manifest(const Dataset& dataset, const std::string& source,
                          const std::filesystem::path& folder, const std::vector<std::string>& files) {
  CacheEntry entry;
  entry.name = dataset.name;
  entry.folder = folder;
  entry.source = source;
  entry.image_shape = dataset.image_shape;
  entry.classes = dataset.classes;
  entry.train_images = dataset.size(Split::train);
  entry.test_images = dataset.size(Split::test);
  nlohmann::ordered_json json{
      {"schema", kSchema},
      {"name", entry.name},
      {"source", source},
      {"image_shape", std::vector(entry.image_shape.begin(), entry.image_shape.end())},
      {"classes", entry.classes},
      {"train_images", entry.train_images},
      {"test_images", entry.test_images},
      {"files", nlohmann::ordered_json::array()}};
  for (const std::string& name : files) {
    const std::filesystem::path path = folder / name;
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
    entry.files.push_back({name, bytes, data::sha256_of_file(path)});
    json["files"].push_back({{"name", name}, {"bytes", bytes}, {"sha256", entry.files.back().sha256}});
  }
  AtomicFile file(folder / kManifest);
  // A folder's name may hold bytes that are not UTF-8.
  file.write(json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  file.commit();
  return entry;
}

}  // namespace trainyard::data
