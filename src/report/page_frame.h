#pragma once

#include <string>
#include <vector>

#include "report/libraries.h"

// What every page has, whatever it reports on.
namespace trainyard::report {

// A whole HTML file that loads nothing, and whose policy forbids it to: `header`, then `sections`, then the
// scripts that draw charts. Both are HTML already, the title is not.
std::string frame_page(const std::string& title, const std::string& header, const std::string& sections,
                       const std::vector<Library>& libraries);

// The head of a page that people see. All is text, not HTML.
struct Tile {
  std::string value, meaning;
  bool alarm = false;
};
struct Link {
  std::string address, text;
};
struct Headline {
  std::string kicker, title, when, summary;
  std::vector<Tile> tiles = {};
  std::string common = {};       // the settings that all share, said once
  std::vector<Link> links = {};  // to parts of the page, and to files
};
std::string header_html(const Headline& headline);

}  // namespace trainyard::report
