#pragma once

#include "record/comparison.h"
#include "record/run_record.h"
#include "record/verdict.h"

namespace trainyard {
class Json;
}

namespace trainyard::cli {

// `compare RESULTS --gate FILE`: runs against the references that the file has for machines like theirs.
struct GateOptions {
  std::filesystem::path file;
  std::string results;  // what people call the runs
  std::string metric;
  std::optional<double> accuracy;
  record::VerdictOptions verdict;
  bool json = false;
};

// Returns the exit code: 3 when a cell is worse, else 0. Error (peer) names the cells that have a reference
// and no good run, after all was printed; Error (config) when there is no reference for a machine. REQUIRES:
// runs of one build.
int pass_gate(const GateOptions& options, const std::vector<record::RunRecord>& runs);

// `--update`: makes these runs the references of their machines, and says so in one line.
int update_gate(const GateOptions& options, const std::vector<record::RunRecord>& runs);

struct ComparedSides {
  std::string name_a, name_b;
  std::vector<record::RunRecord> runs_a, runs_b;
  std::set<std::string> across;
};

// Prints a table of the cells, then what could not be compared, then what else differs, then one line of
// counts.
void print_comparison(const ComparedSides& sides, const record::Comparison& comparison,
                      const record::Metric& metric, const record::VerdictOptions& options);
Json comparison_json(const ComparedSides& sides, const record::Comparison& comparison,
                     const record::Metric& metric, const record::VerdictOptions& options);

// Returns one line that says why no cell could be compared.
std::string why_nothing(const ComparedSides& sides, const record::Comparison& comparison,
                        const record::Metric& metric);

}  // namespace trainyard::cli
