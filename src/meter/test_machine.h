#pragma once

// For tests only.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "meter/system_files.h"

namespace trainyard::meter {

// A folder that looks like the /proc and /sys of some machine; gone afterwards.
class TestMachine {
 public:
  TestMachine() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-machine-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~TestMachine() { std::filesystem::remove_all(root_); }
  TestMachine(const TestMachine&) = delete;
  TestMachine& operator=(const TestMachine&) = delete;

  TestMachine& write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << '\n';
    return *this;
  }
  SystemFiles files() const { return SystemFiles(root_.string()); }

 private:
  std::filesystem::path root_;
};

}  // namespace trainyard::meter
