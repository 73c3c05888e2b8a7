#include "data/source/dataset.h"

#include "base/file.h"
#include "base/text.h"
#include "data/source/cifar10.h"
#include "data/source/class_folders.h"
#include "data/source/get_dataset.h"
#include "data/source/mnist.h"
#include "data/source/record_set.h"

namespace trainyard::data {

void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      fail(ErrorKind::config, "'{}': label {} of image {} is out of range, 0 to {} expected", file.string(),
           labels[i], i, classes - 1);
}

namespace {

// A FileSource is a dataset that lies in files: one row, and its load and store functions.
struct FileSource {
  const char* name;
  Dataset (*load)(const std::filesystem::path& folder, ReadMode read);
  std::vector<std::filesystem::path> (*list)(const std::filesystem::path& folder);
  std::vector<std::string> (*store)(const Dataset& dataset, const std::filesystem::path& folder);
};

constexpr FileSource kFileSources[] = {
    {"mnist", load_mnist, list_mnist, store_mnist},
    {"cifar10", [](const std::filesystem::path& folder, ReadMode read) { return load_cifar10(folder, read); },
     list_cifar10,
     [](const Dataset& dataset, const std::filesystem::path& folder) {
       return store_cifar10(dataset, folder);
     }},
};

// A PathSource is a data set that the user names by its path: "tfrecord:DIR".
struct PathSource {
  std::string_view form, path;  // "tfrecord", "DIR"
  SampleKind kind;
  Dataset (*load)(const std::filesystem::path& path, const DatasetOptions& options);
  DatasetFiles (*list)(const std::filesystem::path& path);
};

constexpr PathSource kPathSources[] = {
    {"tfrecord", "DIR", SampleKind::encoded,
     [](const std::filesystem::path& path, const DatasetOptions&) { return load_records(path); },
     list_records},
    {"folder", "DIR", SampleKind::encoded,
     [](const std::filesystem::path& path, const DatasetOptions&) { return load_class_folders(path); },
     list_class_images},
    {"text", "FILE", SampleKind::tokens,
     [](const std::filesystem::path& path, const DatasetOptions& options) {
       return load_text(path, options.tokens.value_or(SequenceOptions()));
     },
     list_text},
};

// Null: the name is not of this form.
const PathSource* path_source_of(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return nullptr;
  for (const PathSource& source : kPathSources)
    if (name.substr(0, colon) == source.form) return &source;
  return nullptr;
}

const FileSource& source_of(const std::string& name) {
  for (const FileSource& source : kFileSources)
    if (name == source.name) return source;
  fail(ErrorKind::internal, "dataset '{}' has no files", name);
}

}  // namespace

const std::vector<std::string>& file_dataset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const FileSource& source : kFileSources) names.emplace_back(source.name);
    return names;
  }();
  return kNames;
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = file_dataset_names();
    names.emplace_back("synthetic");
    for (const PathSource& source : kPathSources)
      names.push_back(fmt::format("{}:{}", source.form, source.path));
    return names;
  }();
  return kNames;
}

namespace {

void want_dataset_name(const std::string& given) {
  const std::vector<std::string>& names = dataset_names();
  const PathSource* source = path_source_of(given);
  if (source != nullptr && given.size() == source->form.size() + 1)
    fail(ErrorKind::config, "data set '{}': {}:{} expected", given, source->form, source->path);
  if (source == nullptr && std::find(names.begin(), names.end(), given) == names.end())
    fail(ErrorKind::config, "unknown dataset '{}'{}, one of {} expected", given, did_you_mean(given, names),
         joined(names, ", "));
}

}  // namespace

Dataset load_dataset_files(const std::string& name, const std::filesystem::path& folder, ReadMode read) {
  return source_of(name).load(folder, read);
}

std::vector<std::string> store_dataset_files(const Dataset& dataset, const std::filesystem::path& folder) {
  return source_of(dataset.name).store(dataset, folder);
}

std::optional<SampleKind> kind_of_dataset(const std::string& given) {
  want_dataset_name(given);
  if (const PathSource* source = path_source_of(given)) return source->kind;
  return given == "synthetic" ? std::nullopt : std::optional(SampleKind::pixels);
}

namespace {

std::filesystem::path path_in(const std::string& name, const PathSource& source) {
  return std::filesystem::path(name.substr(source.form.size() + 1)).lexically_normal();
}

// The folder that is given, or the one in the cache.
std::filesystem::path folder_of(const DatasetOptions& options) {
  if (!options.staged.empty()) return options.staged;
  if (!options.folder.empty()) {
    if (!std::filesystem::is_directory(options.folder))
      fail(ErrorKind::config, "dataset '{}': '{}' is not a folder", options.name, options.folder.string());
    return options.folder;
  }
  const std::filesystem::path cache = options.cache.empty() ? default_cache_folder() : options.cache;
  const std::optional<CacheEntry> entry = find_in_cache(cache, options.name);
  if (!entry)
    fail(ErrorKind::config, "dataset '{}' is not in the cache '{}': run 'trainyard data get {}' first",
         options.name, cache.string(), options.name);
  return entry->folder;
}

}  // namespace

void Dataset::add_note(const std::string& more) {
  if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
}

DatasetFiles list_files(const DatasetOptions& options) {
  want_dataset_name(options.name);
  if (const PathSource* source = path_source_of(options.name))
    return source->list(path_in(options.name, *source));
  if (options.name == "synthetic") fail(ErrorKind::config, "data set '{}' has no files", options.name);
  const std::filesystem::path folder = folder_of(options);
  return {.root = folder, .files = source_of(options.name).list(folder), .note = ""};
}

Dataset load_dataset(const DatasetOptions& options) {
  want_dataset_name(options.name);
  const PathSource* source = path_source_of(options.name);
  if (source == nullptr && options.name != "synthetic")
    return load_dataset_files(options.name, folder_of(options), options.read);
  if (options.read != ReadMode::memory)
    fail(ErrorKind::config, "{} {}: data set '{}' {}", Setting{"read"}, name(options.read), options.name,
         source == nullptr ? "has no files" : "is always read where it lies; 'memory' expected");
  if (source == nullptr)
    return options.tokens ? make_synthetic_sequences(*options.tokens, options.synthetic.seed)
                          : make_synthetic(options.synthetic);
  const std::filesystem::path path = path_in(options.name, *source);
  Dataset dataset = source->load(options.staged.empty() ? path : options.staged, options);
  // A run that goes on elsewhere finds the data under another path.
  dataset.name = fmt::format("{}:{}", source->form,
                             (path.has_filename() ? path : path.parent_path()).filename().string());
  return dataset;
}

}  // namespace trainyard::data
