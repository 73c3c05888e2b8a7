#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::browser_test {

// Returns the program's path as PATH finds it; empty when it does not.
std::filesystem::path find_program(const std::string& name);

// The state of a page that headless Chromium opened.
struct OpenedPage {
  int exit_code = 0;
  std::string dom;                     // as HTML, after its scripts ran
  std::vector<std::string> console;    // every line a script or the browser wrote there
  std::vector<std::string> addresses;  // of the network, that the page asked for
};

// `folder` gets the browser's profile.
OpenedPage open_page(const std::filesystem::path& page, const std::filesystem::path& folder);

// Says how a person looks at the page.
struct Reader {
  int width = 1280;           // of the place that the page has, in pixels
  bool prefers_dark = false;  // in the settings of the system
};

// Runs the body of an asynchronous function in JavaScript once the page's charts are drawn, and returns its
// result as JSON. It runs in a copy of the page beside the page, so that relative links stay the same.
// Returns "" without an answer.
std::string ask_page(const std::filesystem::path& page, const std::filesystem::path& folder,
                     const Reader& reader, const std::string& function);

}  // namespace trainyard::browser_test
