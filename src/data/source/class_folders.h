#pragma once

#include "data/source/dataset.h"

namespace trainyard::data {

struct ClassFile {
  std::filesystem::path path;
  std::int32_t label = 0;
};

// A ClassFolders is a folder with one folder of files a class; classes are numbered in the order of their
// names.
struct ClassFolders {
  std::vector<std::string> classes;
  std::vector<ClassFile> files;  // by class, then by name
};

// Hidden files are no part of it. Error (config) when there is no file in any class.
ClassFolders list_class_folders(const std::filesystem::path& folder);

// Loads the JPEGs and PNGs of a folder of class folders, told by their endings. Where it has a folder
// `train`, that holds the classes, and `test`, `validation` or `val` beside it those for evaluation; else a
// tenth of the images is held out. Error (config) when a class has no image, or the splits have other
// classes.
Dataset load_class_folders(const std::filesystem::path& folder);

// Lists the images that load_class_folders reads; the note counts the other files.
DatasetFiles list_class_images(const std::filesystem::path& folder);

}  // namespace trainyard::data
