#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/outputs.h"
#include "predict/analytic/evaluate.h"

namespace trainyard::cli {

// The parts of `predict eval` that its page shows: what was judged, and how.
struct EvalPageInput {
  const predict::RunSet& set;
  std::vector<predict::Judged> judged;
  predict::NamedScores held_out;
  std::filesystem::path runs, model;
  std::string split, source, target;  // one of model, split and target is given
  int seeds = 1;
};

WrittenFiles write_eval_page(const PageFiles& files, EvalPageInput input, bool quiet);

}  // namespace trainyard::cli
