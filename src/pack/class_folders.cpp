#include "pack/class_folders.h"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

#include "base/error.h"

namespace trainyard::pack {
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

std::string labels_text(const std::vector<std::string>& classes) {
  std::string text;
  for (std::size_t i = 0; i < classes.size(); ++i) text += fmt::format("{}:{}\n", i, classes[i]);
  return text;
}

}  // namespace trainyard::pack
