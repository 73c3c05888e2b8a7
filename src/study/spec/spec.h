#pragma once

#include "record/settings.h"
#include "record/value.h"

namespace trainyard::study {

// More than any cluster runs in a year; a file that asks for more has a mistake in an axis.
inline constexpr std::int64_t kMostRuns = 100'000;

// If this many attempts are disturbed, another one tells nothing new.
inline constexpr int kMostDisturbedRetries = 20;

struct Axis {
  std::string name;
  std::vector<record::Value> values;
};

// Exclusion leaves out cells in which every named setting has one of these values.
struct Exclusion {
  std::map<std::string, std::vector<record::Value>> matches;
  int line = 0;  // in the study's file
};

// Sample tells which cells of a matrix are run: all, or so many of them (sample_grid() in plan.h selects
// them).
struct Sample {
  std::int64_t points = 0;  // 0: all
  std::uint64_t seed = 1;
};

// Matrix holds all combinations of the axes' values.
struct Matrix {
  record::Settings settings;  // the same in every cell
  std::vector<Axis> axes;
  std::vector<Exclusion> exclusions;
  Sample sample;
};

// nested: as the axes are written, the last one fastest. shuffled: all runs at random. interleaved: one
// replicate of every cell, at random, then the next; drift of the machine then meets all cells alike.
enum class Order { nested, shuffled, interleaved };

// Command holds the words of a command, the program first.
using Command = std::vector<std::string>;

// Set-up and clean-up commands have this limit where a study does not set one.
inline constexpr double kSideLimitSeconds = 600;

// FileNetwork is a network that a study names by its file.
struct FileNetwork {
  std::filesystem::path path;  // absolute
  std::string sha256;          // of its content; empty: it could not be read

  bool operator==(const FileNetwork&) const = default;
};

// Spec is a study's file, read and checked. docs/formats/study.md describes it. Its own matrix is the whole
// study, or the common part of all parts.
struct Spec : Matrix {
  std::string file;  // as the user named it
  std::string text;  // its content
  std::string name, about;
  std::string build;                 // what is measured, as the user calls it; "": what runs say themselves
  std::string run = "bench";         // bench, train, ensemble or program
  std::vector<std::string> program;  // argv with {setting} places, for `run: program`
  std::map<std::string, std::string> environment;
  std::vector<Command> setup, cleanup;  // before and after each run; with {setting} places
  double setup_limit_seconds = kSideLimitSeconds,
         cleanup_limit_seconds = kSideLimitSeconds;  // of each command
  std::vector<Matrix> parts;                         // none: the study is one matrix
  int replicates = 1;
  int retry_disturbed = 0;  // further attempts at a run that something disturbed
  Order order = Order::interleaved;
  std::uint64_t seed = 1;               // of the order
  double time_limit_seconds = 0;        // of one run; 0: none
  std::int64_t memory_limit_bytes = 0;  // of all processes of one run together; 0: none
  double wait_for_quiet_seconds = 0;    // at most so long before each run; 0: no waiting
  bool pin_clocks = false;              // as long as a run goes on
  int at_once = 0;                      // runs that a cluster may have going; 0: no limit
  std::vector<std::string> sbatch;      // further options, word by word
  // By the names that settings and axes have, as find_file_networks() finds them.
  std::map<std::string, FileNetwork> networks;
};

// Returns the matrices of the study's cells: its parts with their common settings, or the study itself.
std::vector<Matrix> matrices_of(const Spec& spec);

// Throws Error (config) with file, line and column. Without `choices`, words that other folders own are not
// checked: the file of a study that was run once is read again so.
Spec read_spec(const std::filesystem::path& file, const record::ChoicesOf& choices = {});
Spec parse_spec(const std::string& text, const std::string& file_name, const record::ChoicesOf& choices = {});

// Applies "data=synthetic": a setting of every cell, in place of the setting or axis of that name in the
// file. Throws Error (usage) when there is no such setting or the value is not valid.
void override_setting(Spec& spec, const std::string& assignment, const record::ChoicesOf& choices = {});

// Applies "2m" in place of the file's wait_for_quiet. Throws Error (usage) when it is no time.
void override_wait_for_quiet(Spec& spec, const std::string& time);

}  // namespace trainyard::study
