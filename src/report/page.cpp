#include "report/page.h"

#include "report/page_frame.h"
#include "report/sections.h"

namespace trainyard::report {

std::string make_page(const StudyView& view, const std::vector<Chart>& charts,
                      const std::vector<Library>& libraries, double made_seconds) {
  return frame_page(view.name.empty() ? "study" : view.name, header_section(view, made_seconds),
                    completeness_section(view) + results_section(view) + charts_section(charts) +
                        provenance_section(view) + warnings_section(view) + method_section(),
                    libraries);
}

}  // namespace trainyard::report
