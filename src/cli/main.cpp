#include <cstdio>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/outputs.h"
#include "cli/place.h"
#include "cli/predict.h"
#include "cli/profile.h"
#include "cli/train.h"
#include "interchange/read_graph.h"
#include "networks/layers/described_network.h"
#include "trainyard/version.h"

namespace trainyard::cli {
namespace {

struct Row {
  const char *name, *summary;
  std::function<int()> (*declare)(Command&);
};

const Row kCommands[] = {
    {"networks", "List the networks, with their sizes and costs", declare_networks},
    {"data", "Get and list data sets, pack images into record files", declare_data},
    {"train", "Train a network, with checkpoints and evaluation", declare_train},
    {"worker", "One of the processes that `train --workers` starts", declare_worker},
    {"serve-params", "Be one parameter server of a training", declare_serve_params},
    {"ensemble", "Train many networks from one stream of samples", declare_ensemble},
    {"sample", "Make text by a network that was trained on texts", declare_sample},
    {"bench", "Time training steps", declare_bench},
    {"explain", "Show the plan of a training step: kernels, layouts, memory, flops", declare_explain},
    {"probe", "Measure this machine's peaks", declare_probe},
    {"profile", "Run any command, and say what it used and when", declare_profile},
    {"study", "Run a matrix of runs, here or on a cluster", declare_study},
    {"predict", "Predict time and memory of training runs, on devices that are not here", declare_predict},
    {"place", "Say where training jobs should run, and what becomes of their queue", declare_place},
    {"trace", "Say where the time of traced steps went", declare_trace},
    {"compare", "Say whether runs are as fast as others: SAME, FASTER, SLOWER or UNCLEAR", declare_compare},
    {"report", "Write a study's results as one HTML file", declare_report},
    {"documents", "Write manual pages and completions of all commands", declare_documents},
};

std::string version_text() {
  const Build build = describe_build();
  std::string text = fmt::format("trainyard {}\n", build.version);
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<9} {}\n", what, value);
  };
  line("commit", build.commit.empty() ? "none: built outside of a repository" : build.commit);
  line("compiler", fmt::format("{}, {} {}", build.compiler, build.build_type, build.flags));
  std::vector<std::string> libraries;
  for (const LibraryVersion& library : build.libraries)
    libraries.push_back(fmt::format("{} {}", library.name, library.version));
  line("libraries", joined(libraries, ", "));
  text.pop_back();  // the parser ends the last line
  return text;
}

// This does not use fmt::print, which throws when standard error cannot be written.
int report(const std::string& message, int code) {
  std::fprintf(stderr, "trainyard: %s\n", message.c_str());
  return code;
}

// Returns what is wrong with the command line: a word that is no command in a place that needs one, or the
// parser's message.
std::string mistake(const Command& program, int argc, char** argv, const std::string& message) {
  const Command* level = &program;
  std::string path = "trainyard";
  for (int i = 1;; ++i) {
    std::vector<std::string> names;
    const Command* next = nullptr;
    for (const Command* below : level->commands()) {
      if (!below->hidden()) names.push_back(below->name());
      if (i < argc && below->name() == argv[i]) next = below;
    }
    if (names.empty() || (i < argc && argv[i][0] == '-')) break;
    // A command that takes positional words accepts a word that names no subcommand.
    if (next == nullptr && level->takes_words()) break;
    if (i < argc && next == nullptr)
      return fmt::format("'{}' is no command of {}{}; one of {}; see {} --help", argv[i], path,
                         did_you_mean(argv[i], names), joined(names, ", "), path);
    if (next == nullptr)
      return fmt::format("{} wants a command: one of {}; see {} --help", path, joined(names, ", "), path);
    level = next;
    path += " " + next->name();
  }
  return fmt::format("{}; see {} --help", message, path);
}

int run(int argc, char** argv) {
  interchange::know_onnx_networks();
  networks::layers::know_described_networks();
  Command program("Trainyard: a laboratory for the performance of DNN training", "trainyard");
  program.require_subcommand(1);
  program.set_version_flag("--version", version_text, "Version, commit, compiler and libraries");
  std::map<const Command*, std::function<int()>> runs;
  for (const Row& row : kCommands) {
    Command* command = program.add_subcommand(row.name, row.summary);
    runs[command] = row.declare(*command);
  }
  const Command::Parsed parsed = program.parse(argc, argv);
  if (parsed.outcome == Command::Parsed::Outcome::told) {
    std::fputs(parsed.text.c_str(), stdout);
    return 0;
  }
  if (parsed.outcome == Command::Parsed::Outcome::mistake)
    return report(mistake(program, argc, argv, parsed.text), kCallerCanMendIt);
  check_outputs();
  return runs.at(program.chosen())();
}

// `output_errno`: why standard output could not be written, where that ended the command.
int run_and_report(int argc, char** argv, int& output_errno) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    return report(error.with_options(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return report(error.what(), kRunFailed);
    output_errno = error.code().value();  // finish_standard_output() says it
    return kRunFailed;
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}

}  // namespace
}  // namespace trainyard::cli

int main(int argc, char** argv) {
  namespace cli = trainyard::cli;
  cli::hold_standard_streams();
  int output_errno = 0;
  const int code = cli::run_and_report(argc, argv, output_errno);
  return cli::finish_standard_output(output_errno) || code != 0 ? code : cli::kRunFailed;
}
