#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "data/pack/pack_text.h"
#include "data/source/dataset.h"
#include "data/text/vocabulary.h"
#include "process/stop_request.h"

namespace trainyard::cli {

namespace {

struct DataPackTextOptions {
  std::string text;
  std::filesystem::path cache;
  data::TextPackOptions pack;
  bool json = false, quiet = false;
};

// Returns the file, or that of a text in the cache.
std::filesystem::path file_of(const DataPackTextOptions& options) {
  const std::vector<std::string>& known = data::file_dataset_names();
  const bool is_known = std::find(known.begin(), known.end(), options.text) != known.end() &&
                        data::kind_of_dataset(options.text) == data::SampleKind::tokens;
  if (!is_known || std::filesystem::exists(options.text)) return options.text;
  return data::list_files({.name = options.text, .cache = options.cache}).files.front();
}

int run_data_pack_text(const DataPackTextOptions& options) {
  const double began = now_seconds();
  const process::StopRequest guard;
  data::TextPackOptions wanted = options.pack;
  wanted.text = file_of(options);
  wanted.progress = terminal_progress(options.quiet || options.json);
  const data::PackedText packed = data::pack_text(wanted);
  const double seconds = now_seconds() - began;
  const auto tokens = static_cast<double>(packed.train_tokens + packed.validation_tokens);
  if (options.json) {
    const Json json{{"folder", wanted.to.string()},
                    {"bytes", packed.bytes},
                    {"vocabulary", packed.vocabulary},
                    {"train_tokens", packed.train_tokens},
                    {"validation_tokens", packed.validation_tokens},
                    {"bytes_per_token", static_cast<double>(packed.bytes) / tokens},
                    {"seconds", seconds}};
    fmt::print("{}\n", json_text(json, 2));
    return 0;
  }
  fmt::print("{}: {} in {} training and {} validation tokens, {:.3f} bytes each, of a vocabulary of {}{}\n",
             wanted.to.string(), format_bytes(packed.bytes), packed.train_tokens, packed.validation_tokens,
             static_cast<double>(packed.bytes) / tokens, packed.vocabulary,
             packed.vocabulary < wanted.vocabulary ? ": no pair of tokens comes twice any more" : "");
  fmt::print("took {}\n", format_seconds(seconds));
  return 0;
}

}  // namespace

std::function<int()> declare_data_pack_text(Command& command) {
  const auto options = std::make_shared<DataPackTextOptions>();
  command
      .add_option("text", options->text, "A text, or the name of one that `data get` has put into the cache")
      ->required()
      ->type_name("FILE");
  add_output_folder(command, "--out,--to", options->pack.to, "Folder for the tokens")->required();
  command.add_option("--vocabulary", options->pack.vocabulary, "Tokens at most; 256: the bytes as they are")
      ->transform(within(record::NumberRange::whole(data::Vocabulary::kBytes, data::Vocabulary::kMost)))
      ->capture_default_str();
  command.add_option("--validation", options->pack.validation, "Share of the text for evaluation: its end")
      ->transform(within(record::NumberRange::between(0, 1)))
      ->capture_default_str();
  command.add_option("--cache", options->cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command.add_flag("--quiet", options->quiet, "No progress bar");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "The vocabulary is trained by byte-pair encoding on the part that is trained on. vocabulary.json has "
      "it,\n"
      "train.tokens and validation.tokens have the text (docs/formats/datasets.md), which `train --data "
      "tokens:DIR`\n"
      "reads.\n\n"
      "Examples:\n"
      "  trainyard data pack text book.txt --out tokens --vocabulary 512\n"
      "  trainyard data pack text book.txt --out bytes --vocabulary 256 --validation 0.2 --json");
  return [options] { return run_data_pack_text(*options); };
}

}  // namespace trainyard::cli
