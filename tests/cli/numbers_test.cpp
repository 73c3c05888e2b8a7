// Numbers are what was typed: every numeric option of every command says its range and keeps to it.

#include <fstream>
#include <regex>

#include "cli/cli_fixture.h"

namespace trainyard::cli_test {
namespace {

struct NumericOption {
  std::string command, name, type;
};

class NumbersTest : public CliTest {
 protected:
  // Collects the numeric options of all commands from their help. A numeric option has the parser's word for
  // its type there (INT, UINT, FLOAT), SHARE or one letter; the range comes after it.
  std::vector<NumericOption> numeric_options() const {
    std::vector<NumericOption> found;
    std::vector<std::string> commands{""};
    const std::regex option(R"(  (?:-\w,)?(--[\w-]+) ((?:U?INT|FLOAT|SHARE|[A-Z])(?![\w./|])\S*).*)"),
        subcommand(R"(  (\S+) .*)");
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const CommandResult help = run(commands[i] + " --help");
      EXPECT_EQ(help.exit_code, 0) << commands[i];
      std::istringstream lines(help.out);
      bool below = false;
      for (std::string line; std::getline(lines, line);) {
        std::smatch parts;
        if (!line.starts_with("  ")) below = line == "Subcommands:";
        if (below && std::regex_match(line, parts, subcommand))
          commands.push_back(commands[i] + (commands[i].empty() ? "" : " ") + parts.str(1));
        else if (!below && std::regex_match(line, parts, option))
          found.push_back({commands[i], parts.str(1), parts.str(2)});
      }
    }
    return found;
  }

  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // "" when the value is refused in one line that names option, value and range; else what came instead.
  std::string fault(const NumericOption& option, const std::string& value) const {
    std::vector<std::string> words = trainyard(option.command);
    words.insert(words.end(), {option.name, value});
    const CommandResult result = cli_test::run(words, options());
    const std::string said = option.name + ": '" + value + "' given, a ";
    const bool refused = result.exit_code == 1 && result.out.empty() &&
                         result.err.find(said) != std::string::npos &&
                         result.err.find(" expected") != std::string::npos &&
                         std::count(result.err.begin(), result.err.end(), '\n') == 1;
    return refused ? "" : option.command + " " + option.name + " '" + value + "': " + result.err + result.out;
  }
};

TEST_F(NumbersTest, EveryNumericOptionRefusesWhatIsOutsideItsRange) {
  const std::vector<NumericOption> options = numeric_options();
  EXPECT_GT(options.size(), 150u);
  const std::regex with_range(R"(\w+:(>=?|\d).*)");
  for (const NumericOption& option : options) {
    EXPECT_TRUE(std::regex_match(option.type, with_range))
        << option.command << " " << option.name << " " << option.type
        << " says no range: transform(within(...))";
    // Every way to be no such number is tested on NumberRange; here, that each option has one: its words are
    // nobody else's.
    EXPECT_EQ(fault(option, "nan"), "");
  }
  for (const char* value : {"-1", "3x", ""}) {
    EXPECT_EQ(fault({"train", "--steps", ""}, value), "");
    EXPECT_EQ(fault({"train", "--lr", ""}, value), "");
  }
}

TEST_F(NumbersTest, OfTheIssue) {
  for (const auto& [arguments, said] : std::vector<std::pair<std::string, std::string>>{
           {"train --steps 0", "--steps: '0' given, a whole number of at least 1 expected"},
           {"train --lr nan", "--lr: 'nan' given, a number above 0 expected"},
           {"train --lr 0", "--lr: '0' given, a number above 0 expected"},
           {"train --lr inf", "--lr: 'inf' given"},
           {"train --seed -1", "--seed: '-1' given, a whole number of at least 0 expected"},
           {"train --seed 99999999999999999999", "--seed: '99999999999999999999' given"},
           {"train --workers 0", "--workers: '0' given, a whole number from 1 to 1000000 expected"},
           {"bench --threads 0", "--threads: '0' given, a whole number from 1 to 1000000 expected"},
           {"train --momentum 5", "--momentum: '5' given, a number from 0 to below 1 expected"},
           {"train --classes 1", "--classes: '1' given, a whole number from 2 to 16777216 expected"},
           {"bench --steps 1.5", "--steps: '1.5' given"},
           {"bench --steps 1e2", "--steps: '1e2' given"},
           {"bench --until-width 0", "--until-width: '0' given, a number above 0 and below 1 expected"},
           {"explain lenet --record x.json", "--record"}})
    expect_failure(arguments, 1, said);
}

TEST_F(NumbersTest, OptionsThatContradictOthersAreRefused) {
  expect_failure("train --mode asp", 1, "--mode asp: says how workers exchange, and wants --workers");
  expect_failure("train --servers 2", 1, "--servers 2: wants --workers, or a --strategy with servers: bsp");
  expect_failure("train --workers 2 --mode allreduce --servers 2", 1,
                 "--servers 2: --mode allreduce exchanges without servers");
}

TEST_F(NumbersTest, OptionsWithoutEffectAreTold) {
  const auto told = [&](const std::string& arguments, const std::string& line) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, line.empty() ? "" : "trainyard: " + line + "\n") << arguments;
  };
  const std::string train =
      "train --network fc --layers 1 --width 8 --data synthetic --batch 8 --steps 2 --quiet ";
  told(train + "--no-eval", "");
  told(train + "--momentum 0.8 --optimizer nesterov --schedule step --decay-steps 1 --decay-factor 0.5", "");
  told(train + "--momentum 0.8", "--momentum has no effect: --optimizer sgd has none");
  told(train + "--final-lr 0", "--final-lr has no effect: --schedule constant has none");
  told(train + "--decay-matrices-only",
       "--decay-matrices-only has no effect: it is about --weight-decay of --optimizer adamw; other "
       "optimizers "
       "have it on matrices alone");
  told(train + "--optimizer adamw --weight-decay 0.1 --decay-matrices-only --clip-norm 1 --accumulate 2", "");
  told(train + "--keep 3", "--keep has no effect: nothing is saved without --out");
  told(train + "--no-eval --eval-every 1", "--eval-every has no effect: --no-eval evaluates nothing");
  told(train + "--wire bf16",
       "--wire has no effect: there are no parameter servers; --workers N --mode MODE has them");
  // A study has the same settings in all of its cells: this is what a cell without servers is started with.
  told(train + "--strategy single --devices 1 --servers 1",
       "--servers has no effect: there are no parameter servers; --workers N --mode MODE has them");
  const std::string bench = "bench --network lenet --batch 2 --steps 2 --warmup 1 --no-peak --quiet ";
  told(bench + "--tuning quick", "--tuning has no effect: it is for GPUs");
  told(bench + "--mode infer --lr 0.1", "--lr has no effect: --mode infer updates nothing");
  told("explain lenet --counts --declined", "--declined has no effect: --counts shows no kernels");
  told("probe --machine --seconds 2", "--seconds has no effect: --machine measures nothing");
}

TEST_F(NumbersTest, ALossThatExplodesIsNoGoodEnd) {
  const std::string train =
      "train --network fc --layers 1 --width 16 --data synthetic --batch 8 --steps 20 --no-eval --quiet "
      "--record run.json --lr ";
  const CommandResult bad = run(train + "1e9 --json");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_TRUE(bad.err.starts_with("trainyard: loss diverged: ")) << bad.err;
  const std::string record = read(work() / "run.json");
  EXPECT_NE(record.find("\"status\":\"diverged\""), std::string::npos) << record;
  EXPECT_NE(record.find("\"exit_code\":2"), std::string::npos) << record;
  const CommandResult good = run(train + "0.01");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_NE(read(work() / "run.json").find("\"status\":\"ok\""), std::string::npos);
}

// A study sees it as its own end, keeps it, and tries again when it is asked to.
TEST_F(NumbersTest, AStudyKnowsThatARunDiverged) {
  std::ofstream(work() / "s.yaml")
      << "study: s\nrun: train\nsettings: {network: fc, layers: 1, width: 16, data: "
         "synthetic, batch: 8, steps: 20, no_eval: true}\naxes: {lr: [0.01, 1e9]}\n";
  EXPECT_EQ(run("study run s.yaml --out r --quiet").exit_code, 2);
  const CommandResult status = run("study export r --format jsonl");
  EXPECT_NE(status.out.find("\"status\":\"diverged\""), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("\"status\":\"ok\""), std::string::npos) << status.out;
  const CommandResult again = run("study run s.yaml --out r --quiet --retry diverged");
  EXPECT_EQ(again.exit_code, 2) << again.err;
}

TEST_F(NumbersTest, ZerosInFrontMeanNothing) {
  const CommandResult result = run("explain lenet --batch 010 --counts --json");  // not octal
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\"batch\":10,"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace trainyard::cli_test
