#pragma once

// The fixed texts of the page, and of the program that draws its charts without a browser.

#include "report/chart.h"
#include "report/libraries.h"
#include "report/study_view.h"

namespace trainyard::report {

extern const char* const kPageStyle;   // CSS; needs palettes_css (theme.h)
extern const char* const kPageScript;  // draws the charts, saves them, sorts tables; needs fit_script
extern const char* const kModeScript;  // for the head of the page: the reader's choice of light or dark
// fit_spec(spec, width, mode): the spec for a place of that width in pixels, in "light" or "dark". Also run
// by Node, for files of charts.
std::string fit_script();
// For Node: draws charts, WIDTH VEGA VEGA_LITE ID..., from ID.json to ID.svg; needs fit_script.
extern const char* const kNodeScript;

// These parts are common to all pages.

// Returns a whole HTML file that loads nothing, and whose policy forbids it to: `header`, then `sections`,
// then the scripts that draw charts. Both are HTML already, the title is not.
std::string frame_page(const std::string& title, const std::string& header, const std::string& sections,
                       const std::vector<Library>& libraries);

// Tile is the head of a page that people see. All is text, not HTML.
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

// Returns the whole report: one HTML file that loads nothing, and whose policy forbids it to.
std::string make_page(const StudyView& view, const std::vector<Chart>& charts,
                      const std::vector<Library>& libraries, double made_seconds);

// ProfileView is the profile of one command, or of a trace.
struct ProfileView {
  std::string title;    // the command, or the trace's file
  std::string profile;  // the object of docs/formats/profile.md, as text
  double seconds = 0;
  std::size_t samples = 0;
};
// Returns the page of one profile: its chart, and a table of its signals.
std::string make_profile_page(const ProfileView& view, const std::vector<Chart>& charts,
                              const std::vector<Library>& libraries, double made_seconds);

}  // namespace trainyard::report
