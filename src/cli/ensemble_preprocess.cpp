#include <cstdio>
#include <set>

#include <fmt/core.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/ensemble_member.h"
#include "cli/ensemble_use.h"
#include "cli/run_report.h"

namespace trainyard::cli {
namespace {

// Those on which members train, each once.
std::vector<std::shared_ptr<backend::Device>> gpus_of(const EnsembleSpec& spec) {
  std::vector<std::shared_ptr<backend::Device>> gpus;
  std::set<std::string> names, addresses;
  if (!spec.shares_gpu_copies()) return gpus;
  for (const MemberSpec& member : spec.members) {
    if (!member.is_on_gpu() || !names.insert(member.run.device).second) continue;
    const auto gpu = backend::make_backend("auto", member.run.device)->device();
    if (addresses.insert(gpu->pci_address()).second) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

int run_preprocessor(const EnsembleOptions& options, const EnsemblePart& part) {
  const RunStart start;
  const EnsembleSpec spec = to_ensemble(options);
  const train::ensemble::StreamOptions stream = to_stream(spec);
  train::ensemble::FillLog log({});
  meter::CpuSnapshot before;
  const train::ensemble::WrittenSamples written = train::ensemble::write_in_place(
      stream, part.first_position,
      [&](const std::string& address) {
        before = meter::read_cpu();
        AtomicFile file(part.announce);
        file.write(address);
        file.commit();
      },
      [](const std::string& remark) {
        fmt::print(stderr, "trainyard: {}\n", remark);
        std::fflush(stderr);
      },
      [] { return false; }, gpus_of(spec));
  const StreamUse use = use_since(before);
  record::RunRecord run = begin_record("ensemble", start, spec.members.front().run, {});
  run.words["member"] = "preprocessor";
  run.figures["images_made"] = static_cast<double>(written.made);
  run.figures["images_skipped"] = static_cast<double>(written.skipped);
  run.figures["seconds"] = now_seconds() - start.steady;
  add_use(run, use, log);
  make_folders(part.results);
  record::write_run_record(run, part.results / kPreprocessorRecord);
  return 0;
}

}  // namespace trainyard::cli
