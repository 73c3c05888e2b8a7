#include "study/spec/spec.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "record/value.h"
#include "study/spec/job.h"
#include "study/spec/known_settings.h"
#include "study/spec/plan.h"
#include "yaml/yaml_reader.h"

namespace trainyard::study {
namespace {

using yaml::YamlReader;

const CellCheck kAllPossible = [](const record::Settings&) { return std::string(); };

Plan plan_of(const std::string& text) { return make_plan(parse_spec(text, "s.yaml"), kAllPossible); }

void expect_complaint(const std::string& text, const std::string& part) {
  expect_error(ErrorKind::config, part, [&] { plan_of(text); });
}

std::string values_of(const std::string& range) {
  std::string text;
  const std::optional<std::vector<record::Value>> values = expand_range(range);
  EXPECT_TRUE(values.has_value()) << range;
  for (const record::Value& value : *values) text += record::to_text(value) + " ";
  return text;
}

TEST(ValueRange, TimesAndPlus) {
  EXPECT_EQ(values_of("16..256 x2"), "16 32 64 128 256 ");
  EXPECT_EQ(values_of("1..100 x10"), "1 10 100 ");
  EXPECT_EQ(values_of("1..50 x10"), "1 10 ");
  EXPECT_EQ(values_of("1..8 +3"), "1 4 7 ");
  EXPECT_EQ(values_of("-2..0 +1"), "-2 -1 0 ");
  EXPECT_EQ(values_of("7..7 x2"), "7 ");
  EXPECT_FALSE(expand_range("adam"));
  EXPECT_FALSE(expand_range("1.5"));
}

TEST(ValueRange, ThatCannotBe) {
  for (const char* text : {"1..8", "8..1 x2", "0..8 x2", "1..8 x1", "1..8 +0", "1..1000000000000000000 +1",
                           "a..b x2", "1..999999999999999999999999 x2"})
    expect_error(ErrorKind::config, "'", [&] { expand_range(text); });
}

TEST(Spec, ReadsEveryKey) {
  const Spec spec = parse_spec(R"(
study: all-of-it
about: every key there is
run: train
settings: {network: lenet, lr: 1e-3, no_eval: true}
axes:
  batch: [16..64 x2, 100]
  staging: [in-place, memory]
exclude:
  - {batch: [16, 32], staging: memory}
replicates: 3
order: shuffled
seed: 9
time_limit: 1.5m
memory_limit: 2GiB
wait_for_quiet: 2m
pin_clocks: true
at_once: 4
environment: {OMP_WAIT_POLICY: passive}
sbatch: [--qos=low]
)",
                               "s.yaml");
  EXPECT_EQ(spec.name, "all-of-it");
  EXPECT_EQ(spec.settings.at("lr"), record::Value(0.001));
  EXPECT_EQ(spec.settings.at("no_eval"), record::Value(true));
  ASSERT_EQ(spec.axes.size(), 2u);
  EXPECT_EQ(spec.axes[0].values.size(), 4u);
  EXPECT_EQ(spec.replicates, 3);
  EXPECT_EQ(spec.time_limit_seconds, 90);
  EXPECT_EQ(spec.memory_limit_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(spec.wait_for_quiet_seconds, 120);
  EXPECT_TRUE(spec.pin_clocks);
  EXPECT_EQ(spec.at_once, 4);
  const Plan plan = make_plan(spec, kAllPossible);
  EXPECT_EQ(plan.cells.size(), 6u);
  EXPECT_EQ(plan.excluded, 2);
  EXPECT_EQ(plan.runs.size(), 18u);
}

TEST(Spec, MistakesAreNamedWithLineAndColumn) {
  expect_complaint("study: a\naxes: {batch: [1]}\nreplicats: 2\n",
                   "s.yaml:3:1: unknown key 'replicats' (did you mean 'replicates'?)");
  expect_complaint("study: a\naxes:\n  bacth: [1]\n",
                   "s.yaml:3:3: unknown axis 'bacth' (did you mean 'batch'?)");
  expect_complaint("study: a\nsettings:\n  epochs: 3\n",
                   "s.yaml:3:3: unknown setting 'epochs'");  // of train, not of bench
  expect_complaint("study: a\naxes:\n  batch: [1, 2\nrun: bench\n", "s.yaml:4:");
  expect_complaint("study: a\naxes:\n\tbatch: [1]\n", "s.yaml:3:");
  expect_complaint("study: a\naxes: {batch: [0]}\n", "s.yaml:2:16: batch '0'");
  expect_complaint("study: a\naxes: {optimizer: [adma]}\n", "did you mean 'adam'");
  expect_complaint("study: a\naxes: {batch: [1, 2, 1]}\n", "s.yaml:2:22: axis 'batch' has 1 twice");
  expect_complaint("study: a\naxes: {batch: 8..1 x2}\n", "ends before it begins");
  expect_complaint("study: a\naxes: {batch: [1]}\naxes: {batch: [2]}\n", "s.yaml:3:1: 'axes' is there twice");
  expect_complaint("study: a\nsettings: {batch: 1}\naxes: {batch: [2]}\n", "a setting and an axis");
  expect_complaint("study: a\nsettings: {batch: [1, 2]}\n", "that is an axis");
  expect_complaint("study: ../a\naxes: {batch: [1]}\n", "study '../a'");
  expect_complaint("axes: {batch: [1]}\n", "no 'study: NAME'");
  expect_complaint("study: a\nreplicates: 0\n", "from 1 to 100000");
  expect_complaint("study: a\ntime_limit: soon\n", "90s, 15m or 3h");
  expect_complaint("study: a\nrun: program\n", "wants 'program:");
  expect_complaint("study: a\norder: random\n", "one of nested, shuffled, interleaved");
  expect_complaint("[1, 2]", "'key: value' lines expected");
  expect_complaint("", "s.yaml:1:1");
}

TEST(Spec, AnEmptyMatrixIsAMistake) {
  expect_complaint("study: a\naxes: {batch: []}\n", "s.yaml:2:15: axis 'batch' has no value");
  expect_complaint("study: a\naxes: {batch: [1, 2]}\nexclude: [{batch: [1, 2]}]\n",
                   "no cell is left: all 2 are excluded");
  expect_complaint(
      "study: a\nreplicates: 2\naxes: {batch: 1..1000 +1, seed: 1..1000 +1, threads: 1..1000 +1}\n",
      "s.yaml: 1000000000 cells, 2 replicates of each: a study has at most 100000 runs");
  // The limit holds for parts together, and for each of them alone where it is sampled.
  expect_complaint(
      "study: a\naxes: {batch: 1..300 +1}\nparts:\n  - {axes: {seed: 1..300 +1}}\n"
      "  - {axes: {threads: 1..300 +1}, sample: {points: 20000}}\n",
      "s.yaml: 110000 cells, 1 replicate of each");
}

TEST(Spec, NumbersHaveTheRangesOfTheOptions) {
  for (const char* run : {"bench", "train", "ensemble"})
    for (const record::SettingInfo* setting : known_settings(run)) {
      if (!setting->is_number()) continue;
      for (const record::Value& no :
           {record::Value(std::int64_t{-1}), record::Value(true), record::Value(std::string("nan")),
            record::Value(std::string("inf")), record::Value(std::string("3x"))}) {
        // Parameters of generated networks have their own tables, which check the range.
        if (setting->form == record::SettingInfo::Form::number &&
            record::find_range(setting->name) == nullptr)
          continue;
        EXPECT_NE(complaint_about(*setting, no), "") << setting->name << " " << record::to_text(no);
      }
    }
  expect_complaint("study: a\nsettings: {momentum: 5}\n",
                   "s.yaml:2:22: momentum '5': a number from 0 to below 1 expected");
  expect_complaint("study: a\nsettings: {classes: 1}\n", "classes '1': a whole number from 2");
  expect_complaint("study: a\nsettings: {seed: -1}\n", "seed '-1': a whole number of at least 0");
  expect_complaint("study: a\nsettings: {lr: nan}\n", "lr 'nan': a number above 0");
  expect_complaint("study: a\nsettings: {max_seconds: 0}\n", "max_seconds '0': a number above 0");
  expect_complaint("study: a\nreplicates: 99999999999\n",
                   "'99999999999' given, a whole number from 1 to 100000 expected");
  expect_complaint("study: a\nat_once: 4294967297\n", "from 1 to 100000");
  expect_complaint("study: a\nseed: 99999999999999999999\n", "a whole number from 0 to 9223372036854775807");
  expect_complaint("study: a\ntime_limit: inf\n", "90s, 15m or 3h");
  expect_complaint("study: a\ntime_limit: 1e300h\n", "90s, 15m or 3h");
  expect_complaint("study: a\nmemory_limit: 0.5\n", "512MiB or 2GiB");
  expect_complaint("study: a\nmemory_limit: 1e30GiB\n", "512MiB or 2GiB");
}

// Each is refused before it is built, so these tests end at once.
TEST(Yaml, AliasesThatStandForTooMuch) {
  expect_complaint("study: a\naxes: &x {batch: [1], more: *x}\n",
                   "s.yaml:2:29: an alias inside of what it stands for");
  expect_complaint("study: &x [1, [2, [*x]]]\n", "an alias inside of what it stands for");
  std::string text = "study: a\nx0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int level = 1; level < 12; ++level) {
    text += fmt::format("x{}: &x{} [", level, level);
    for (int i = 0; i < 9; ++i) text += fmt::format("{}*x{}", i == 0 ? "" : ", ", level - 1);
    text += "]\n";
  }
  expect_complaint(text + "axes: {batch: *x11}\n", "more than 200000 values");
  // Aliases that stand for little remain valid.
  const Plan plan = plan_of(
      "study: a\nparts:\n  - {axes: {batch: &b [1, 2], seed: [1]}}\n"
      "  - {axes: {batch: *b, seed: [2]}}\n");
  EXPECT_EQ(plan.cells.size(), 4u);
}

TEST(Yaml, FilesThatAreTooLongOrTooDeep) {
  expect_complaint("study: a\naxes: " + std::string(100'000, '[') + "\n", "more than 64 deep");
  std::string keys = "study: a\nrun: program\nprogram: [echo]\nsettings: {k: 1";
  for (int i = 0; i < 20'000; ++i) keys += ", k" + std::to_string(i) + ": 1";
  expect_complaint(keys + "}\n", "a mapping of more than 10000 keys");
  std::string list = "study: a\naxes: {seed: [0";
  for (int i = 1; i < 300'000; ++i) list += fmt::format(",{}", i);
  expect_complaint(list + "]}\n", "more than 200000 values");
  expect_complaint("study: a\nabout: " + std::string(YamlReader::kMostBytes, 'x') + "\n",
                   "'s.yaml': more than 4194304 bytes");
  const TestFolder folder;
  expect_error(ErrorKind::config, "'/dev/zero': more than 4194304 bytes", [] { read_spec("/dev/zero"); });
  expect_error(ErrorKind::config, "more than 4194304 bytes", [&] {
    YamlReader::read(folder.write("long.yaml", std::string(YamlReader::kMostBytes + 1, ' ')));
  });
}

TEST(Yaml, TextIsUtf8) {
  const Plan plan =
      plan_of("study: a\nrun: program\nprogram: [echo]\naxes: {w: [\xC3\xA9, \xF0\x9F\x9A\x86]}\n");
  EXPECT_EQ(plan.cells.size(), 2u);
  for (const char* no :
       {"\xE9", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\xFF\xFE"})
    expect_complaint(std::string("study: a\nabout: ") + no + "\n", "s.yaml:2: text in UTF-8 expected");
}

TEST(Yaml, MatricesWhosePartsRepeatTooMuch) {
  std::string text = "study: a\naxes: {batch: 1..10000 +1}\nparts:\n";
  for (int part = 0; part < 200; ++part) text += fmt::format("  - {{settings: {{seed: {}}}}}\n", part);
  expect_complaint(text, "axes and exclusions of all parts have 2000200 values together, at most 1000000");
}

TEST(Spec, AnExclusionNamesAnAxisAndSaysWhenItMatchesNothing) {
  expect_complaint("study: a\nexclude:\n  - {bach: 1}\naxes: {batch: [1]}\n",
                   "s.yaml:3:6: unknown axis 'bach'");
  EXPECT_EQ(plan_of("study: a\naxes: {batch: [1]}\nexclude:\n  - {batch: 4}\n").remarks.at(0),
            "s.yaml:4: this exclusion matches no cell");
}

TEST(Spec, PartsShareWhatTheFileSays) {
  const Plan plan = plan_of(
      "study: a\nsettings: {steps: 3, network: fc}\naxes: {batch: [1, 2]}\n"
      "parts:\n  - axes: {width: [8, 16]}\n    exclude: [{width: 16, batch: 2}]\n"
      "  - settings: {network: cnn, steps: 5}\n    axes: {blocks: [1, '3,4,6,3']}\n"
      "  - axes: {width: [16, 32]}\n");
  ASSERT_EQ(plan.cells.size(), 3u + 4u + 3u);  // batch 1, width 16 is in two parts
  EXPECT_EQ(plan.excluded, 1);
  EXPECT_EQ(record::to_text(plan.cells[0].settings), "batch 1, network fc, steps 3, width 8");
  EXPECT_EQ(record::to_text(plan.cells[4].settings), "batch 1, blocks 3,4,6,3, network cnn, steps 5");
}

TEST(Spec, MistakesOfPartsAndSamples) {
  expect_complaint("study: a\nparts: []\n", "s.yaml:2:8: 'parts' has none");
  expect_complaint("study: a\nparts:\n  - {axis: {batch: [1]}}\n",
                   "unknown key of a part 'axis' (did you mean 'axes'?)");
  expect_complaint("study: a\naxes: {batch: [1]}\nparts:\n  - {axes: {batch: [2]}}\n",
                   "axis 'batch' of all parts is in one of them, too");
  expect_complaint("study: a\naxes: {batch: [1]}\nsample: {seed: 1}\n", "'sample' wants 'points: COUNT'");
  expect_complaint("study: a\naxes: {batch: [1]}\nsample: {points: 0}\n", "from 1 to 100000");
  expect_complaint("study: a\naxes: {batch: [1]}\nsample: {point: 1}\n", "did you mean 'points'");
}

TEST(Spec, AProgramMayHaveAnyAxis) {
  const Plan plan =
      plan_of("study: a\nrun: program\nprogram: [echo, '{colour}']\naxes: {colour: [red, '1']}\n");
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[1].settings.at("colour"), record::Value(std::string("1")));
}

TEST(Spec, SettingsCanBeOverridden) {
  Spec spec =
      parse_spec("study: a\nsettings: {network: lenet}\naxes: {batch: [1, 2], threads: [1, 2]}\n", "s.yaml");
  override_setting(spec, "batch=8");
  override_setting(spec, "network=fc");
  const Plan plan = make_plan(spec, kAllPossible);
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[0].settings.at("batch"), record::Value(std::int64_t{8}));
  EXPECT_EQ(plan.cells[0].settings.at("network"), record::Value(std::string("fc")));
  expect_error(ErrorKind::usage, "did you mean 'batch'", [&] { override_setting(spec, "bacth=8"); });
  expect_error(ErrorKind::usage, "a whole number from 1", [&] { override_setting(spec, "batch=0"); });
  expect_error(ErrorKind::usage, "NAME=VALUE", [&] { override_setting(spec, "batch"); });
}

TEST(Spec, OverridesReachEveryPart) {
  Spec spec = parse_spec(
      "study: a\naxes: {batch: [1, 2]}\nparts:\n  - {axes: {width: [8, 16]}}\n  - {settings: {width: 9}}\n",
      "s.yaml");
  override_setting(spec, "width=4");
  const Plan plan = make_plan(spec, kAllPossible);
  ASSERT_EQ(plan.cells.size(), 2u);  // both parts are the same now
  for (const Cell& cell : plan.cells) EXPECT_EQ(cell.settings.at("width"), record::Value(std::int64_t{4}));
}

TEST(Plan, ASampleIsOfItsSizeAndExcludesWhatIsExcluded) {
  const std::string text =
      "study: a\naxes: {batch: 1..64 x2, width: 1..64 x2, layers: 1..8 +1}\nexclude: [{batch: 1, width: 1}]\n"
      "sample: {points: 40, seed: 7}\n";
  const Plan plan = plan_of(text), again = plan_of(text);
  ASSERT_EQ(plan.cells.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(plan.cells[i].hash, again.cells[i].hash);
    EXPECT_NE(record::to_text(plan.cells[i].settings.at("batch")) + "/" +
                  record::to_text(plan.cells[i].settings.at("width")),
              "1/1");
  }
}

TEST(Plan, SharesAreDisjointCompleteAndBalanced) {
  const Plan plan =
      plan_of("study: a\nreplicates: 2\naxes: {batch: 1..64 x2, threads: [1, 2], seed: 1..11 +1}\n");
  ASSERT_EQ(plan.cells.size(), 154u);
  std::map<std::string, int> times;
  for (std::int64_t k = 1; k <= 8; ++k) {
    const Plan share = take_shard(plan, {k, 8});
    EXPECT_GE(share.cells.size(), 154u / 8);
    EXPECT_LE(share.cells.size(), 154u / 8 + 1);
    EXPECT_EQ(share.runs.size(), 2 * share.cells.size());
    EXPECT_EQ(share.runs.back().position, static_cast<std::int64_t>(share.runs.size()) - 1);
    std::int64_t with_two_threads = 0;
    for (const Cell& cell : share.cells) {
      ++times[cell.hash];
      with_two_threads += cell.settings.at("threads") == record::Value(std::int64_t{2}) ? 1 : 0;
    }
    // Neighbours are spread: no share has only one value of an axis.
    EXPECT_GT(with_two_threads, 3);
    EXPECT_LT(with_two_threads, 16);
  }
  EXPECT_EQ(times.size(), 154u);
  for (const auto& [cell, count] : times) EXPECT_EQ(count, 1) << cell;
}

TEST(Plan, SharesThatAreNone) {
  for (const char* text : {"", "1", "0/2", "3/2", "1/", "/2", "a/b", "1/2/3", "-1/2"})
    expect_error(ErrorKind::usage, "K/N expected", [&] { parse_shard(text); });
  EXPECT_EQ(parse_shard("2/8").number, 2);
}

TEST(Plan, CellsAreHashedByWhatTheyDo) {
  const std::string axes = "axes: {batch: [1, 2]}\n";
  const Plan one = plan_of("study: a\n" + axes),
             other = plan_of("study: b\norder: nested\ntime_limit: 9\n" + axes),
             more = plan_of("study: a\nsettings: {seed: 2}\n" + axes);
  EXPECT_EQ(one.cells[0].hash, other.cells[0].hash);
  EXPECT_NE(one.cells[0].hash, one.cells[1].hash);
  EXPECT_NE(one.cells[0].hash, more.cells[0].hash);
  EXPECT_EQ(one.cells[0].hash.size(), 16u);
}

TEST(Plan, Orders) {
  const auto sequence = [](const std::string& order) {
    std::vector<std::pair<std::string, int>> runs;
    for (const store::PlannedRun& run :
         plan_of("study: a\nreplicates: 3\naxes: {batch: 1..20 +1}\norder: " + order + "\n").runs)
      runs.emplace_back(record::to_text(run.settings.at("batch")), run.replicate);
    return runs;
  };
  const auto nested = sequence("nested"), shuffled = sequence("shuffled"),
             interleaved = sequence("interleaved");
  EXPECT_EQ(nested[0], std::make_pair(std::string("1"), 1));
  EXPECT_EQ(nested[1], std::make_pair(std::string("1"), 2));
  EXPECT_EQ(nested[59], std::make_pair(std::string("20"), 3));
  EXPECT_NE(shuffled, nested);
  EXPECT_EQ(shuffled, sequence("shuffled"));
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(interleaved[i].second, static_cast<int>(i / 20) + 1);
  for (auto runs : {shuffled, interleaved}) {
    auto expected = nested;
    std::sort(runs.begin(), runs.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(runs, expected);
  }
}

// These are the three campaigns of PSC's benchmarks; their source is the seed's runner scripts (specs,
// section 3.1).
constexpr const char* kGpuBatches = "batch: [16..16384 x2, 327681]";

TEST(Plan, ReproducesTheSeedsTenJobs) {
  const Plan plan = plan_of(
      "study: psc\nrun: train\naxes: {gpus: [1, 2, 4], gpu_type: [k80, p100], staging: [in-place, local]}\n"
      "exclude: [{gpu_type: p100, gpus: 4}]\n");
  EXPECT_EQ(plan.cells.size(), 10u);
}

TEST(Plan, OurStudyOfTheSameTenDeploymentsAsksForTheGpusItUses) {
  const Spec spec = read_spec("studies/psc-deepmnist.yaml");  // tests run in the root of the tree
  const Plan plan = make_plan(spec, kAllPossible);
  ASSERT_EQ(plan.cells.size(), 10u);
  for (const store::PlannedRun& run : plan.runs) {
    const Job job = make_job(spec, run, 1, "trainyard");
    EXPECT_EQ(record::Value(std::int64_t{job.resources.gpus_per_node}), run.settings.at("devices"));
    EXPECT_EQ(job.resources.partition, "GPU-shared");
    EXPECT_EQ(job.time_limit_seconds, 900);
  }
}

// The runs of DistNet's table (specs, section 3), and two more.
TEST(Plan, DistNetsTable) {
  for (const char* file : {"studies/distnet.yaml", "studies/distnet-quick.yaml"}) {
    SCOPED_TRACE(file);
    const Spec spec = read_spec(file);
    std::set<std::string> deployments;
    for (const Cell& cell : make_plan(spec, kAllPossible).cells)
      deployments.insert(fmt::format("{} {} {}", record::to_text(cell.settings.at("strategy")),
                                     record::to_text(cell.settings.at("devices")),
                                     record::to_text(cell.settings.at("servers"))));
    EXPECT_EQ(deployments,
              (std::set<std::string>{"single 1 1", "bsp:sum 2 1", "bsp 2 1", "asp 2 1", "lazy-locked 2 1",
                                     "lazy 2 1", "lazy 2 2", "ssp:2 2 1", "allreduce 2 1"}));
  }
}

TEST(Spec, ModesOfParameterServersAreForTrainingAlone) {
  const std::string modes =
      "axes: {strategy: [bsp, 'bsp:sum', asp, lazy, lazy-locked, hogwild, 'ssp:3'], servers: [1, 2],"
      " wire: [f32, bf16], transport: [shm, tcp]}\n";
  EXPECT_EQ(plan_of("study: a\nrun: train\n" + modes).cells.size(), 56u);
  expect_complaint("study: a\nrun: bench\naxes: {servers: [1]}\n", "unknown axis 'servers'");
  expect_complaint("study: a\nrun: train\naxes: {wire: [f16]}\n", "wire 'f16'");
}

Job first_job(const std::string& text) {
  const Spec spec = parse_spec(text, "s.yaml");
  return make_job(spec, make_plan(spec, kAllPossible).runs.front(), 2, "trainyard");
}

TEST(Spec, SetUpAndCleanUpAreTextsForTheShellOrWords) {
  const std::string study = "study: a\nrun: program\nprogram: ['true']\naxes: {x: [7]}\n";
  Job job =
      first_job(study + "setup: 'mkdir -p {x}'\ncleanup: [rm, -r, '{x}', '{run}']\ncleanup_limit: 5s\n");
  EXPECT_EQ(job.setup, (std::vector<Command>{{"/bin/sh", "-c", "mkdir -p 7"}}));
  EXPECT_EQ(job.cleanup, (std::vector<Command>{{"rm", "-r", "7", job.run_id}}));
  EXPECT_EQ(job.setup_limit_seconds, 600);
  EXPECT_EQ(job.cleanup_limit_seconds, 5);
  job = first_job(study + "setup: [[make, data], 'echo {replicate} {attempt} {study}']\n");
  EXPECT_EQ(job.setup, (std::vector<Command>{{"make", "data"}, {"/bin/sh", "-c", "echo 1 2 a"}}));
  const Job again = job_from_json(to_json(job));
  EXPECT_EQ(again.setup, job.setup);
  expect_complaint(study + "setup: []\n", "s.yaml:5:8: a command expected");
  expect_complaint(study + "setup_limit: soon\n", "'soon' given");
}

TEST(Spec, WaitsAndPinsTravelWithTheJobAndAreNoPartOfACell) {
  const std::string study = "study: a\nrun: program\nprogram: ['true']\n",
                    careful = study + "wait_for_quiet: 90s\npin_clocks: true\n";
  const Job job = job_from_json(to_json(first_job(careful)));
  EXPECT_EQ(job.wait_for_quiet_seconds, 90);
  EXPECT_TRUE(job.pin_clocks);
  EXPECT_FALSE(first_job(study).pin_clocks);
  Job patient = job;
  patient.grace_seconds = 120;
  EXPECT_EQ(job_from_json(to_json(patient)).grace_seconds, 120);
  EXPECT_EQ(plan_of(careful).cells[0].hash, plan_of(study).cells[0].hash);
  expect_complaint(study + "wait_for_quiet: long\n", "90s, 15m or 3h");
  expect_complaint(study + "pin_clocks: maybe\n", "one of true, false");
  Spec spec = parse_spec(careful, "s.yaml");
  override_wait_for_quiet(spec, "3h");
  EXPECT_EQ(spec.wait_for_quiet_seconds, 10800);
  expect_error(ErrorKind::usage, "wait_for_quiet 'soon': something like 90s",
               [&] { override_wait_for_quiet(spec, "soon"); });
}

// Set-up commands decide what a run does, while clean-up commands do not.
TEST(Spec, SetUpIsPartOfACellAndCleanUpIsNot) {
  const std::string study = "study: a\nrun: program\nprogram: ['true']\n";
  const std::string plain = plan_of(study).cells[0].hash;
  EXPECT_NE(plan_of(study + "setup: make\n").cells[0].hash, plain);
  EXPECT_EQ(plan_of(study + "cleanup: make\nsetup_limit: 1s\n").cells[0].hash, plain);
}

TEST(Plan, PlacesThatNothingFillsRefuseTheirCells) {
  const auto refused = [](const std::string& text) { return plan_of(text).cells[0].refused; };
  const std::string study = "study: a\nrun: program\naxes: {batch: [1, 2]}\n";
  EXPECT_EQ(refused(study + "program: [echo, '{bacth}']\n"),
            "program: no setting or axis 'bacth' for {bacth} (did you mean 'batch'?); {{bacth}} is the text "
            "itself");
  EXPECT_EQ(refused(study + "program: [echo, '{batch} {run} {record} {{typo}} ${typo}']\n"), "");
  EXPECT_NE(refused(study + "program: [echo]\nenvironment: {X: '{typo}'}\n").find("environment: "),
            std::string::npos);
  EXPECT_NE(refused(study + "program: [echo]\nsetup: '{typo}'\n").find("setup: "), std::string::npos);
  EXPECT_NE(refused(study + "program: [echo]\ncleanup: [echo, '{typo}']\n").find("cleanup: "),
            std::string::npos);
  EXPECT_NE(refused("study: a\nrun: train\nsettings: {out: 'x/{typo}'}\n").find("out: "), std::string::npos);
}

TEST(Plan, EveryRunLeavesItsOutputsInAPlaceOfItsOwn) {
  const Job job = first_job(
      "study: a\nrun: train\nsettings: {out: kept, trace: '/tmp/{batch}/{run}.json', "
      "eval_every: 5, hosts: machines, batch: 4}\n");
  EXPECT_EQ(job.command, (Command{"trainyard", "train", "--quiet", "--batch=4", "--eval-every=5",
                                  "--hosts=machines", "--out={folder}/kept/" + job.run_id,
                                  "--trace=/tmp/4/" + job.run_id + ".json", "--record={record}"}));
  EXPECT_EQ(job.outputs,
            (std::vector<std::string>{"{folder}/kept/" + job.run_id, "/tmp/4/" + job.run_id + ".json"}));
  expect_complaint("study: a\nrun: bench\nsettings: {eval_every: 2}\n", "unknown setting 'eval_every'");
  expect_complaint("study: a\nrun: train\nsettings: {eval_every: 0}\n", "at least 1");
}

TEST(Plan, WorkersOnSeveralNodesAreStartedThere) {
  const std::string several = "study: a\nrun: train\nsettings: {nodes: 2, threads: 4, devices: 2, strategy: ";
  const auto has = [](const Job& job, const char* word) {
    return std::find(job.command.begin(), job.command.end(), word) != job.command.end();
  };
  const Job reduced = first_job(several + "allreduce}\n"), served = first_job(several + "bsp}\n");
  EXPECT_TRUE(has(reduced, "--hosts=slurm"));
  EXPECT_TRUE(has(served, "--hosts=slurm"));
  EXPECT_EQ(reduced.resources.cpus_per_task, 2) << "ranks share the threads over the nodes";
  EXPECT_EQ(served.resources.cpus_per_task, 4) << "workers of servers have them on each";
  EXPECT_FALSE(
      has(first_job("study: a\nrun: train\nsettings: {devices: 2, strategy: bsp}\n"), "--hosts=slurm"));
  const Job ensemble = first_job("study: a\nrun: ensemble\nsettings: {ensemble: e.yaml, nodes: 2}\n");
  EXPECT_TRUE(has(ensemble, "--hosts=slurm"));
  ASSERT_EQ(ensemble.outputs.size(), 1u) << "members meet in a folder that all nodes see";
  EXPECT_EQ(ensemble.outputs[0], "{folder}/ensembles/" + ensemble.run_id);
}

TEST(Plan, ReproducesTheSeeds240JobsAndRefusesTheTypo) {
  const std::string text =
      std::string("study: psc\nrun: train\naxes: {gpus: [1, 2, 4], gpu_type: [k80, p100], ") + kGpuBatches +
      ", staging: [in-place, local], strategy: [towers-host, towers-device]}\n"
      "exclude: [{gpu_type: p100, gpus: 4}]\n";
  EXPECT_EQ(plan_of(text).cells.size(), 240u);
}

TEST(Plan, ReproducesTheSeeds374Jobs) {
  const Plan plan = plan_of(
      "study: psc\nrun: train\naxes: {cpus_per_task: [1, 2, 4, 7, 8, 14, 16, 28, 32], partition: [RM, GPU], "
      "batch: 16..16384 x2, staging: [in-place, local]}\nexclude: [{partition: RM, cpus_per_task: 32}]\n");
  EXPECT_EQ(plan.cells.size(), 374u);
}

}  // namespace
}  // namespace trainyard::study
