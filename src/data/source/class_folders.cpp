#include "data/source/class_folders.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::data {

namespace {

std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
  std::error_code code;
  std::vector<std::filesystem::path> paths;
  std::filesystem::directory_iterator entries(folder, code);
  if (code) fail(ErrorKind::config, "cannot read folder '{}': {}", folder.string(), code.message());
  for (const std::filesystem::directory_entry& entry : entries)
    if (entry.path().filename().string().front() != '.') paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

ClassFolders list_class_folders(const std::filesystem::path& folder) {
  ClassFolders found;
  for (const std::filesystem::path& below : sorted_entries(folder)) {
    if (!std::filesystem::is_directory(below)) continue;
    const auto label = static_cast<std::int32_t>(found.classes.size());
    found.classes.push_back(below.filename().string());
    for (const std::filesystem::path& file : sorted_entries(below)) found.files.push_back({file, label});
  }
  if (found.files.empty())
    fail(ErrorKind::config, "'{}': no images; one folder of images a class expected in it", folder.string());
  return found;
}

namespace {

// Opening every file to look at its first bytes would take minutes for a million of them.
bool has_image_ending(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

class FolderSamples final : public SampleSource {
 public:
  explicit FolderSamples(std::vector<ClassFile> files) : files_(std::move(files)) {}

  std::int64_t size() const override { return std::ssize(files_); }

  Sample read(std::int64_t index, Scratch& scratch) const override {
    const ClassFile& file = files_[static_cast<std::size_t>(index)];
    std::error_code code;
    const std::uintmax_t bytes = std::filesystem::file_size(file.path, code);
    std::ifstream stream(file.path, std::ios::binary);
    if (code || !stream) fail(ErrorKind::io, "{} cannot be read", where(index));
    if (scratch.size() < bytes) scratch.resize(bytes);
    stream.read(reinterpret_cast<char*>(scratch.data()), static_cast<std::streamsize>(bytes));
    return {std::as_bytes(std::span(scratch)).first(static_cast<std::size_t>(stream.gcount())), file.label};
  }

  std::string where(std::int64_t index) const override {
    return fmt::format("'{}'", files_[static_cast<std::size_t>(index)].path.string());
  }

 private:
  const std::vector<ClassFile> files_;
};

// Loads one split; `left_out` counts files that are no images.
ClassFolders list_images(const std::filesystem::path& folder, std::int64_t& left_out) {
  ClassFolders found = list_class_folders(folder);
  left_out += static_cast<std::int64_t>(
      std::erase_if(found.files, [](const ClassFile& file) { return !has_image_ending(file.path); }));
  std::vector<bool> seen(found.classes.size());
  for (const ClassFile& file : found.files) seen[static_cast<std::size_t>(file.label)] = true;
  if (const auto empty = std::find(seen.begin(), seen.end(), false); empty != seen.end())
    fail(ErrorKind::config, "'{}': no JPEG or PNG in this class",
         (folder / found.classes[static_cast<std::size_t>(empty - seen.begin())]).string());
  return found;
}

// Empty: there is none.
std::filesystem::path find_test_folder(const std::filesystem::path& folder) {
  for (const char* split : {"test", "validation", "val"})
    if (std::filesystem::is_directory(folder / split)) return folder / split;
  return {};
}

}  // namespace

Dataset load_class_folders(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::config, "'{}' is not a folder; one folder of images a class expected in it",
         folder.string());
  const bool split = std::filesystem::is_directory(folder / "train");
  const std::filesystem::path train_folder = split ? folder / "train" : folder,
                              test_folder = split ? find_test_folder(folder) : std::filesystem::path();
  std::int64_t left_out = 0;
  ClassFolders train = list_images(train_folder, left_out);
  Dataset dataset;
  dataset.kind = SampleKind::encoded;
  dataset.classes = static_cast<int>(train.classes.size());
  const auto images = std::ssize(train.files);
  dataset.train.samples = std::make_shared<FolderSamples>(std::move(train.files));
  if (!test_folder.empty()) {
    ClassFolders test = list_images(test_folder, left_out);
    if (test.classes != train.classes)
      fail(ErrorKind::config, "'{}' has classes {}; '{}' has {}", test_folder.string(),
           joined(test.classes, ", "), train_folder.string(), joined(train.classes, ", "));
    dataset.test.samples = std::make_shared<FolderSamples>(std::move(test.files));
  } else {
    HeldOut parts = hold_out(dataset.train.samples);
    dataset.train.samples = std::move(parts.train);
    dataset.test.samples = std::move(parts.test);
    dataset.note = fmt::format("no folder 'test': {} of {} images are held out for evaluation",
                               dataset.test.size(), images);
  }
  if (left_out > 0)
    dataset.note += fmt::format("{}{} files that are neither JPEG nor PNG are left out",
                                dataset.note.empty() ? "" : "; ", left_out);
  return dataset;
}

}  // namespace trainyard::data
