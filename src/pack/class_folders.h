#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::pack {

struct ClassFile {
  std::filesystem::path path;
  std::int32_t label = 0;
};

// A folder with one folder of files a class; classes are numbered in the order of their names.
struct ClassFolders {
  std::vector<std::string> classes;
  std::vector<ClassFile> files;  // by class, then by name
};

// Hidden files are no part of it. Error (config) when there is no file in any class.
ClassFolders list_class_folders(const std::filesystem::path& folder);

// One line a class, "0:daisy", as slim's labels.txt has it.
std::string labels_text(const std::vector<std::string>& classes);

}  // namespace trainyard::pack
