#pragma once

// For tests only.

#include <fstream>

#include "base/test_folder.h"
#include "meter/system_files.h"

namespace trainyard::meter {

// A TestMachine is a folder that looks like the /proc and /sys of some machine.
class TestMachine {
 public:
  TestMachine& write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = place_of(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << '\n';
    return *this;
  }
  std::filesystem::path place_of(const std::string& path) const { return folder_.path().string() + path; }
  SystemFiles files() const { return SystemFiles(folder_.path().string()); }

 private:
  TestFolder folder_;
};

}  // namespace trainyard::meter
