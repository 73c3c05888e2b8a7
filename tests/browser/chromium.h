#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::browser_test {

// Where PATH has it; empty: nowhere.
std::filesystem::path find_program(const std::string& name);

// What a page became in headless Chromium.
struct OpenedPage {
  int exit_code = 0;
  std::string dom;                     // as HTML, after its scripts ran
  std::vector<std::string> console;    // every line a script or the browser wrote there
  std::vector<std::string> addresses;  // of the network, that the page asked for
};

// `folder` gets the browser's profile.
OpenedPage open_page(const std::filesystem::path& page, const std::filesystem::path& folder);

}  // namespace trainyard::browser_test
