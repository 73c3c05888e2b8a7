#pragma once

#include "cli/command.h"
#include "cli/networks.h"
#include "cli/run_options.h"
#include "engine/op_breakdown.h"
#include "predict/graph_features/op_vocabulary.h"
#include "record/run_record.h"
#include "run/train_options.h"
#include "run/training.h"

namespace trainyard::cli {

std::function<int()> declare_train(Command& command);

// Reports what a training came to, or leaves its record at `result_file` where one is given; returns the exit
// code.
int finish_training(const run::TrainingOutcome& outcome, const run::TrainCommand& options,
                    const std::filesystem::path& result_file = {});

// Prints the record, which is also given as JSON, as the options ask; returns the exit code.
int report_training(const record::RunRecord& run, std::string_view json, const run::TrainCommand& options);

std::function<int()> declare_bench(Command& command);

// Prints the same as a table.
void print_ops(const engine::OpBreakdown& ops);

// Counts the ops of these networks and files, or of all our networks when `sources` is empty.
predict::OpVocabulary count_ops(const std::vector<std::string>& sources, const GraphOptions& options);

// Reads the vocabulary from `file`; an empty path means the vocabulary of the training steps of all our
// networks.
predict::OpVocabulary read_vocabulary(const std::filesystem::path& file);

std::function<int()> declare_explain(Command& command);

// Counts what a step costs in three ways: by formulas when the network is a generated one, by walking its
// graph, and as the sum over the kernels that would run. Prints a table, or one JSON object with --json.
void explain_counts(const run::RunOptions& options);

// Prints what the ops of a graph's file cost, for files of which no training can be made, and why.
void explain_graph(const run::RunOptions& options);

// Prints the record of a run as a short table.
void print_report(const record::RunRecord& run);

std::function<int()> declare_worker(Command& command);

// This process as one rank of the job that mpirun or srun started. Rank 0 leaves the record at `result` where
// that is given, and prints it elsewhere. A rank that fails ends the job.
int train_as_rank(run::TrainCommand options, const std::filesystem::path& result = {});

// trainyard serve-params
std::function<int()> declare_serve_params(Command& command);

}  // namespace trainyard::cli
