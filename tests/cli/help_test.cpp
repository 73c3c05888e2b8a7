// Every command's help ends with examples, and they all run.

#include <cstdlib>
#include <fstream>

#include "cli/cli_fixture.h"
#include "cli/image_folder.h"
#include "cli/made_up_runs.h"
#include "cli/made_up_sweep.h"
#include "weights/test_state_dict.h"

namespace trainyard::cli_test {
namespace {

// "" is the program itself, whose help lists the others.
std::vector<std::string> commands_listed_by(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream stream(help.substr(std::min(help.find("Subcommands:"), help.size())));
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line) && line.starts_with("  "))
    if (line[2] != ' ') names.push_back(words_of(line).front());
  return names;
}

std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream stream(help.substr(std::min(help.find("\nExamples:\n"), help.size())));
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("  trainyard ")) examples.push_back(line.substr(12));
  return examples;
}

class HelpTest : public CliTest {
 protected:
  // The fixture makes the files that the examples name: our studies and networks, a published job output, a
  // published sweep, a table of runs, jobs and a cluster, traces, images, a book.
  HelpTest() {
    std::filesystem::copy("studies", work() / "studies");  // tests run in the root of the tree
    std::filesystem::create_directories(work() / "examples");
    std::filesystem::copy("examples/networks", work() / "examples" / "networks");
    std::filesystem::create_directories(work() / "psc");
    std::ofstream(work() / "psc" / "2018-06-04-k80:1:local")
        << "   Gres=gpu:k80:1 Reservation=(null)\nMean Time Per Step : 0.0189142023802\n"
           "Mean Speed : 2643.51617874 Images/Sec\nspeed uncertainty : 3.94097403\n"
           "Speed Jitter : 340.057168827\n";
    std::filesystem::create_directories(work() / "traces");
    std::ofstream(work() / "traces" / "lenet.json")
        << R"([{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":0,"ts":0,"dur":5}])";
    std::ofstream(work() / "traces" / "titanx.csv") << "97 %, 40 %, 11100 MiB, 12.5, 0, 0\n"
                                                       "3 %, 0 %, 900 MiB, 12.5, 0, 0\n";
    std::filesystem::create_directories(work() / "paradnn");
    std::ofstream(work() / "paradnn" / "gpu_fc.json") << made_up_sweep();
    std::ofstream(work() / "runs.csv") << made_up_runs();
    std::ofstream(work() / "pre-train.pkl", std::ios::binary) << weights::driple_state_dict(8);
    std::ofstream(work() / "jobs.yaml") << "jobs:\n  - {network: resnet50, batch: 32, epochs: 10, count: "
                                           "3}\n  - {network: lenet, arrival: 1m}\n";
    std::ofstream(work() / "cluster.yaml")
        << "slots:\n  - {device: GTX1080}\n  - {device: RTX2070, count: 2}\n";
    make_image_folder(work() / "flowers");
    std::ofstream book(work() / "book.txt");
    for (int line = 0; line < 200; ++line) book << "line " << line * line % 97 << " of a short book\n";
    std::ofstream(work() / "cpu_util.log")
        << "10:00:00  CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n"
           "10:00:00  all 1 0 0 0 0 0 0 0 0 99\n10:00:00  0 1 0 0 0 0 0 0 0 0 99\n";
  }

  // As who types an example has it.
  CommandOptions with_program_in_path() const {
    CommandOptions installed = options();
    const std::string folder = std::filesystem::path(trainyard("").front()).parent_path();
    installed.environment["PATH"] = folder + ":" + std::getenv("PATH");
    return installed;
  }
};

TEST_F(HelpTest, EveryExampleRuns) {
  const CommandResult top = run("--help");
  ASSERT_EQ(top.exit_code, 0);
  std::vector<std::string> commands = commands_listed_by(top.out);
  ASSERT_GE(commands.size(), 6u) << top.out;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const CommandResult help = run(commands[i] + " --help");
    EXPECT_EQ(help.exit_code, 0) << commands[i];
    for (const std::string& below : commands_listed_by(help.out))
      commands.push_back(commands[i] + " " + below);
    const std::vector<std::string> examples = examples_in(help.out);
    EXPECT_GE(examples.size(), 2u) << commands[i] << ": " << help.out;
    for (const std::string& example : examples) {
      SCOPED_TRACE(example);
      const bool fetches = example.starts_with("data get") || example.starts_with("report ");
      if (fetches && std::getenv("TRAINYARD_TEST_NETWORK") == nullptr) {
        CommandOptions offline = options();
        offline.environment["PATH"] = "/nowhere";
        expect_failed(cli_test::run(trainyard(example), offline), 2, "no program 'npm'");
        continue;
      }
      const CommandResult result = cli_test::run(trainyard(example), with_program_in_path());
      EXPECT_EQ(result.exit_code, 0) << result.err;
      EXPECT_NE(result.out, "");
    }
  }
}

TEST_F(HelpTest, VersionNamesCommitCompilerAndLibraries) {
  const CommandResult result = run("--version");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("trainyard ")) << result.out;
  for (const char* part : {"\ncommit ", "\ncompiler ", "\nlibraries ", "glibc "})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " is missing in " << result.out;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// "--steps" of "  -s,--steps UINT ...": every word of the help's options that begins with a dash.
std::vector<std::string> options_listed_by(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream stream(help.substr(std::min(help.find("\nOptions:"), help.size())));
  std::string line;
  std::getline(stream, line), std::getline(stream, line);
  while (std::getline(stream, line) && !line.empty())
    if (line.starts_with("  -")) {
      std::istringstream listed(words_of(line).front());
      for (std::string name; std::getline(listed, name, ',');) names.push_back(name);
    }
  return names;
}

// The lines of a script between the one that names the command and the next such line.
bool completes(const std::string& script, const std::string& begin, const std::string& end,
               const std::string& name) {
  const std::size_t from = script.find(begin), to = script.find(end, from + begin.size());
  const std::string part = from == std::string::npos ? "" : script.substr(from, to - from);
  for (std::size_t at = part.find(name); at != std::string::npos; at = part.find(name, at + 1))
    if (std::string(" ':\n").find(part[at + name.size()]) != std::string::npos) return true;
  return false;
}

bool has_line(const std::string& script, const std::string& part, const std::string& other) {
  std::istringstream stream(script);
  for (std::string line; std::getline(stream, line);)
    if (line.find(part) != std::string::npos && line.find(other) != std::string::npos) return true;
  return false;
}

// The manual writes every dash so that readers can copy it.
std::string in_manual(const std::string& name) {
  std::string text;
  for (const char c : name) text += c == '-' ? "\\-" : std::string(1, c);
  return text;
}

TEST_F(HelpTest, ManualAndCompletionsNameEveryOptionOfEveryCommand) {
  ASSERT_EQ(run("documents made").exit_code, 0);
  const std::string bash = text_of(work() / "made" / "bash"), zsh = text_of(work() / "made" / "zsh"),
                    fish = text_of(work() / "made" / "fish");
  std::vector<std::string> commands{""};
  int options = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string help = run(commands[i] + " --help").out;
    SCOPED_TRACE(commands[i]);
    std::string page = "trainyard";
    for (const std::string& word : words_of(commands[i])) page += "-" + word;
    const std::string manual = text_of(work() / "made" / "man1" / (page + ".1"));
    for (const std::string& below : commands_listed_by(help)) {
      commands.push_back(commands[i] + " " + below);
      EXPECT_NE(manual.find("\n\\fB" + in_manual(below)), std::string::npos)
          << below << " is missing in " << page;
      EXPECT_TRUE(completes(bash, "\n    '" + commands[i] + "') words", "\n", below)) << below;
    }
    for (const std::string& name : options_listed_by(help)) {
      ++options;
      EXPECT_NE(manual.find("\\fB" + in_manual(name) + "\\fR"), std::string::npos)
          << name << " is missing in " << page;
      EXPECT_TRUE(completes(bash, "\n    '" + commands[i] + "') words", "\n", name)) << name << " in bash";
      EXPECT_TRUE(completes(zsh, "\n    '" + commands[i] + "')", "\n    '", name)) << name << " in zsh";
      const std::string flag = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      EXPECT_TRUE(has_line(fish, "\"__trainyard_at '" + commands[i] + "'\"", flag + " "))
          << name << " in fish";
    }
  }
  EXPECT_GT(options, 300) << "the help is read wrong";
}

}  // namespace
}  // namespace trainyard::cli_test
