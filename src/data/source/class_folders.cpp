#include "data/source/class_folders.h"

#include <cctype>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/text.h"

namespace trainyard::data {

namespace {

// An entry knows whether it is a folder without a look at the file, which would take minutes for a million.
std::vector<std::filesystem::directory_entry> sorted_entries(const std::filesystem::path& folder) {
  std::error_code code;
  std::vector<std::filesystem::directory_entry> found;
  std::filesystem::directory_iterator entries(folder, code);
  if (code) fail(ErrorKind::config, "cannot read folder '{}': {}", folder.string(), code.message());
  for (const std::filesystem::directory_entry& entry : entries)
    if (entry.path().filename().string().front() != '.') found.push_back(entry);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

ClassFolders list_class_folders(const std::filesystem::path& folder) {
  ClassFolders found;
  std::error_code code;  // of a link that leads nowhere, which is no folder
  for (const std::filesystem::directory_entry& below : sorted_entries(folder)) {
    if (!below.is_directory(code)) continue;
    const auto label = static_cast<std::int32_t>(found.classes.size());
    found.classes.push_back(below.path().filename().string());
    for (const std::filesystem::directory_entry& file : sorted_entries(below.path()))
      if (!file.is_directory(code)) found.files.push_back({file.path(), label});
  }
  if (found.files.empty())
    fail(ErrorKind::config, "'{}': no images; one folder of images a class expected in it", folder.string());
  return found;
}

namespace {

// Opening every file to look at its first bytes would take minutes, too.
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
    if (code || !stream)
      fail(ErrorKind::io, "{} cannot be read: {}", where(index),
           code ? code.message() : std::strerror(errno));
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

// The splits of a folder. Without a test split a part of the others is held out.
struct FolderSplits {
  std::filesystem::path train_folder, test_folder;  // the second empty: there is none
  ClassFolders train, test;
  std::string note;  // on files that are no images; may be empty
};

FolderSplits find_folder_splits(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::config, "'{}' is not a folder; one folder of images a class expected in it",
         folder.string());
  FolderSplits splits;
  const bool named = std::filesystem::is_directory(folder / "train");
  splits.train_folder = named ? folder / "train" : folder;
  if (named) splits.test_folder = find_test_folder(folder);
  std::int64_t left_out = 0;
  splits.train = list_images(splits.train_folder, left_out);
  if (!splits.test_folder.empty()) splits.test = list_images(splits.test_folder, left_out);
  if (left_out > 0)
    splits.note = fmt::format("{} files that are neither JPEG nor PNG are left out", left_out);
  return splits;
}

}  // namespace

Dataset load_class_folders(const std::filesystem::path& folder) {
  FolderSplits splits = find_folder_splits(folder);
  Dataset dataset;
  dataset.kind = SampleKind::encoded;
  dataset.classes = static_cast<int>(splits.train.classes.size());
  if (!splits.test_folder.empty() && splits.test.classes != splits.train.classes)
    fail(ErrorKind::config, "'{}' has classes {}; '{}' has {}", splits.test_folder.string(),
         joined(splits.test.classes, ", "), splits.train_folder.string(), joined(splits.train.classes, ", "));
  dataset.train.samples = std::make_shared<FolderSamples>(std::move(splits.train.files));
  if (!splits.test_folder.empty()) {
    dataset.test.samples = std::make_shared<FolderSamples>(std::move(splits.test.files));
  } else {
    const std::int64_t images = dataset.train.size();
    HeldOut parts = hold_out(dataset.train.samples);
    dataset.train.samples = std::move(parts.train);
    dataset.test.samples = std::move(parts.test);
    dataset.note = fmt::format("no folder 'test': {} of {} images are held out for evaluation",
                               dataset.test.size(), images);
  }
  dataset.add_note(splits.note);
  return dataset;
}

DatasetFiles list_class_images(const std::filesystem::path& folder) {
  FolderSplits splits = find_folder_splits(folder);
  DatasetFiles found{.root = folder, .files = {}, .note = std::move(splits.note)};
  for (const ClassFolders* split : {&splits.train, &splits.test})
    for (const ClassFile& file : split->files) found.files.push_back(file.path);
  return found;
}

}  // namespace trainyard::data
