#pragma once

// These functions make the parts of the page, as HTML. They escape all text of the study.

#include "report/chart.h"
#include "report/study_view.h"

namespace trainyard::report {

// Makes the header: title, date, one sentence in words, key figures.
std::string header_section(const StudyView& view, double made_seconds);
// Expected, done, failed by class and missing runs of every cell, with reasons.
std::string completeness_section(const StudyView& view);
// Returns the figures of every cell; td elements carry the exact number in data-value.
std::string results_section(const StudyView& view);
// Returns a place for every chart and its spec, and the charts left out.
std::string charts_section(const std::vector<Chart>& charts);
// Facts about machines and software; those that differ between nodes stand out.
std::string provenance_section(const StudyView& view);
std::string warnings_section(const StudyView& view);
// Explains how the figures are made.
std::string method_section();

// These functions make cells of tables on a page.

// Makes a cell with the text that people read, and the exact number for sorting and for programs that read
// the page.
std::string number_cell(const char* figure, double exact, const std::string& text);
// Makes the cell of a figure that is not known.
std::string empty_cell(const char* figure);
// Links to what these runs left, or their ids where nothing lies beside the page; of many the first few.
std::string run_links(const std::vector<const record::RunRecord*>& runs, const FileLinks& links);
// Returns text that is escaped.
std::string text_cell(const std::string& text);

}  // namespace trainyard::report
