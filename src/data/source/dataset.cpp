#include "data/source/dataset.h"

#include <charconv>

#include "base/file.h"
#include "base/text.h"
#include "data/source/cifar10.h"
#include "data/source/class_folders.h"
#include "data/source/get_dataset.h"
#include "data/source/language.h"
#include "data/source/mnist.h"
#include "data/source/moby_dick.h"
#include "data/source/record_set.h"

namespace trainyard::data {

void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      fail(ErrorKind::config, "'{}': label {} of image {} is out of range, 0 to {} expected", file.string(),
           labels[i], i, classes - 1);
}

namespace {

using MaybeSequences = std::optional<SequenceOptions>;

// A FileSource is a dataset that lies in files: one row, and its load and store functions.
struct FileSource {
  const char* name;
  SampleKind kind;
  Dataset (*load)(const std::filesystem::path& folder, ReadMode read, const MaybeSequences& tokens);
  std::vector<std::filesystem::path> (*list)(const std::filesystem::path& folder);
  std::vector<std::string> (*store)(const Dataset& dataset, const std::filesystem::path& from,
                                    const std::filesystem::path& folder);
};

constexpr FileSource kFileSources[] = {
    {"mnist", SampleKind::pixels,
     [](const std::filesystem::path& folder, ReadMode read, const MaybeSequences&) {
       return load_mnist(folder, read);
     },
     list_mnist,
     [](const Dataset& dataset, const std::filesystem::path&, const std::filesystem::path& folder) {
       return store_mnist(dataset, folder);
     }},
    {"cifar10", SampleKind::pixels,
     [](const std::filesystem::path& folder, ReadMode read, const MaybeSequences&) {
       return load_cifar10(folder, read);
     },
     list_cifar10,
     [](const Dataset& dataset, const std::filesystem::path&, const std::filesystem::path& folder) {
       return store_cifar10(dataset, folder);
     }},
    {"moby-dick", SampleKind::tokens,
     [](const std::filesystem::path& folder, ReadMode, const MaybeSequences& tokens) {
       return load_moby_dick(folder, tokens);
     },
     list_moby_dick,
     [](const Dataset&, const std::filesystem::path& from, const std::filesystem::path& folder) {
       return store_moby_dick(from, folder);
     }},
};

// A FormSource is a data set of which the user says more than the name: "tfrecord:DIR", "language:SEED".
struct FormSource {
  std::string_view form, rest;  // "tfrecord", "DIR"
  SampleKind kind;
  Dataset (*load)(const std::filesystem::path& rest, const DatasetOptions& options);
  DatasetFiles (*list)(const std::filesystem::path& path);        // null: it has no files
  std::int64_t (*vocabulary)(const std::filesystem::path& path);  // null: any, or it has no tokens
};

SequenceOptions sequences_of(const DatasetOptions& options) {
  return options.tokens.value_or(SequenceOptions());
}

Dataset load_language(const std::filesystem::path& rest, const DatasetOptions& options) {
  const std::string text = rest.string();
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, seed);
  if (read.ec != std::errc() || read.ptr != end)
    fail(ErrorKind::config, "data set 'language:{}': a seed expected, a whole number from 0 to 2^64 - 1",
         text);
  return make_language(seed, sequences_of(options));
}

constexpr FormSource kFormSources[] = {
    {"tfrecord", "DIR", SampleKind::encoded,
     [](const std::filesystem::path& path, const DatasetOptions&) { return load_records(path); },
     list_records, nullptr},
    {"folder", "DIR", SampleKind::encoded,
     [](const std::filesystem::path& path, const DatasetOptions&) { return load_class_folders(path); },
     list_class_images, nullptr},
    {"text", "FILE", SampleKind::tokens,
     [](const std::filesystem::path& path, const DatasetOptions& options) {
       return load_text(path, sequences_of(options));
     },
     list_text, [](const std::filesystem::path&) { return kByteVocabulary; }},
    {"tokens", "DIR", SampleKind::tokens,
     [](const std::filesystem::path& path, const DatasetOptions& options) {
       return load_tokens(path, sequences_of(options));
     },
     list_tokens, vocabulary_of_tokens},
    {"language", "SEED", SampleKind::tokens, load_language, nullptr, nullptr},
};

// Null: the name is not of this form.
const FormSource* form_source_of(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return nullptr;
  for (const FormSource& source : kFormSources)
    if (name.substr(0, colon) == source.form) return &source;
  return nullptr;
}

// Null: no dataset in files has this name.
const FileSource* find_file_source(std::string_view name) {
  for (const FileSource& source : kFileSources)
    if (name == source.name) return &source;
  return nullptr;
}

const FileSource& file_source_of(const std::string& name) {
  if (const FileSource* source = find_file_source(name)) return *source;
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
    for (const FormSource& source : kFormSources)
      names.push_back(fmt::format("{}:{}", source.form, source.rest));
    return names;
  }();
  return kNames;
}

namespace {

void want_dataset_name(const std::string& given) {
  const std::vector<std::string>& names = dataset_names();
  const FormSource* source = form_source_of(given);
  if (source != nullptr && given.size() == source->form.size() + 1)
    fail(ErrorKind::config, "data set '{}': {}:{} expected", given, source->form, source->rest);
  if (source == nullptr && std::find(names.begin(), names.end(), given) == names.end())
    fail(ErrorKind::config, "unknown dataset '{}'{}, one of {} expected", given, did_you_mean(given, names),
         joined(names, ", "));
}

}  // namespace

Dataset load_dataset_files(const std::string& name, const std::filesystem::path& folder, ReadMode read,
                           const std::optional<SequenceOptions>& tokens) {
  return file_source_of(name).load(folder, read, tokens);
}

std::vector<std::string> store_dataset_files(const Dataset& dataset, const std::filesystem::path& from,
                                             const std::filesystem::path& folder) {
  return file_source_of(dataset.name).store(dataset, from, folder);
}

std::optional<SampleKind> kind_of_dataset(const std::string& given) {
  want_dataset_name(given);
  if (const FormSource* source = form_source_of(given)) return source->kind;
  const FileSource* source = find_file_source(given);
  return source == nullptr ? std::nullopt : std::optional(source->kind);
}

bool has_files(const std::string& name) {
  want_dataset_name(name);
  const FormSource* source = form_source_of(name);
  return source == nullptr ? find_file_source(name) != nullptr : source->list != nullptr;
}

namespace {

// Returns what follows the form: the path of files, or a seed.
std::filesystem::path rest_of(const std::string& name, const FormSource& source) {
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

std::optional<std::int64_t> vocabulary_of(const std::string& name) {
  if (kind_of_dataset(name) != SampleKind::tokens) return std::nullopt;
  const FormSource* source = form_source_of(name);
  if (source == nullptr) return kByteVocabulary;
  if (source->vocabulary == nullptr) return std::nullopt;
  return source->vocabulary(rest_of(name, *source));
}

DatasetFiles list_files(const DatasetOptions& options) {
  if (!has_files(options.name)) fail(ErrorKind::config, "data set '{}' has no files", options.name);
  if (const FormSource* source = form_source_of(options.name))
    return source->list(rest_of(options.name, *source));
  const std::filesystem::path folder = folder_of(options);
  return {.root = folder, .files = file_source_of(options.name).list(folder), .note = ""};
}

namespace {

// Error (config) for a way to read that the data set does not have.
void want_read_mode(const DatasetOptions& options, bool reads_images_of_files) {
  if (options.read == ReadMode::memory || reads_images_of_files) return;
  fail(ErrorKind::config, "{} {}: data set '{}' {}", Setting{"read"}, name(options.read), options.name,
       has_files(options.name) ? "is always read where it lies; 'memory' expected" : "has no files");
}

}  // namespace

Dataset load_dataset(const DatasetOptions& options) {
  want_dataset_name(options.name);
  const FormSource* source = form_source_of(options.name);
  const FileSource* in_files = source == nullptr ? find_file_source(options.name) : nullptr;
  want_read_mode(options, in_files != nullptr && in_files->kind == SampleKind::pixels);
  if (in_files != nullptr)
    return load_dataset_files(options.name, folder_of(options), options.read, options.tokens);
  if (source == nullptr)
    return options.tokens ? make_synthetic_sequences(*options.tokens, options.synthetic.seed)
                          : make_synthetic(options.synthetic);
  const std::filesystem::path path = rest_of(options.name, *source);
  Dataset dataset = source->load(options.staged.empty() ? path : options.staged, options);
  // A run that goes on elsewhere finds the data under another path.
  dataset.name = fmt::format("{}:{}", source->form,
                             (path.has_filename() ? path : path.parent_path()).filename().string());
  return dataset;
}

}  // namespace trainyard::data
