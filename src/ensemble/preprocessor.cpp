#include "ensemble/preprocessor.h"

#include "ensemble/member.h"
#include "ensemble/stream_use.h"
#include "run/run_record.h"

namespace trainyard::ensemble {

namespace {

// Returns those on which members train, each once.
std::vector<std::shared_ptr<backend::Device>> gpus_of(const EnsembleSpec& spec) {
  std::vector<std::shared_ptr<backend::Device>> gpus;
  std::set<std::string> devices, addresses;
  if (!spec.shares_gpu_copies()) return gpus;
  for (const MemberSpec& member : spec.members) {
    if (!member.is_on_gpu() || !devices.insert(member.run.device.to_string()).second) continue;
    const auto gpu = backend::make_backend("auto", member.run.device)->device();
    if (addresses.insert(gpu->pci_address()).second) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

void run_preprocessor(const EnsembleOptions& options, const EnsemblePart& part, ProgressListener& notes) {
  const run::RunStart start;
  const EnsembleSpec spec = to_ensemble(options);
  const StreamOptions stream = to_stream(spec);
  FillLog log({});
  meter::CpuSnapshot before;
  const WrittenSamples written = write_in_place(
      stream, part.first_position,
      [&](const std::string& address) {
        before = meter::read_cpu();
        AtomicFile file(part.announce);
        file.write(address);
        file.commit();
      },
      [&](const std::string& remark) { notes.warn(remark); }, [] { return false; }, gpus_of(spec));
  const StreamUse use = use_since(before);
  const run::RunOptions& first = spec.members.front().run;
  record::RunRecord run = begin_record("ensemble", start, asked_of(first), first, {});
  run.words["member"] = "preprocessor";
  run.figures["images_made"] = static_cast<double>(written.made);
  run.figures["images_skipped"] = static_cast<double>(written.skipped);
  run.figures["seconds"] = now_seconds() - start.steady;
  add_use(run, use, log);
  make_folders(part.results);
  record::write_run_record(run, part.results / kPreprocessorRecord);
}

}  // namespace trainyard::ensemble
