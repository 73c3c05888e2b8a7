#pragma once

#include "report/chart.h"
#include "report/libraries.h"

namespace trainyard::report {

enum class ImageFormat { svg, png };

const char* name(ImageFormat format);

// Draws every chart that is not left out into FOLDER/ID.svg or FOLDER/ID.png, all or none, and returns the
// files. Node draws SVG with the page's own libraries; Chromium makes PNG of it, at twice the size. Error
// (io) says which program is missing.
std::vector<std::filesystem::path> export_charts(const std::vector<Chart>& charts,
                                                 const std::vector<Library>& libraries,
                                                 const std::filesystem::path& folder, ImageFormat format);

}  // namespace trainyard::report
