#include <algorithm>

#include "image/archives.h"
#include "image/pull.h"
#include "image/run_program.h"

namespace cove::image {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostId = 4096;

std::string program_of(Transport transport) { return transport == Transport::docker_daemon ? "docker" : "podman"; }

// "sha256:HEX" of the image's config; "" if the engine does not know it, which `save` then says better.
Result<std::string> engine_id(const std::string& program, const std::string& name, const std::stop_token& stop) {
  std::string id;
  const ProgramSpec spec{.argv = {program, "image", "inspect", "--format", "{{.Id}}", name},
                         .deadline = Deadline::after(60s)};
  auto end = run_program(spec, stop, [&](int fd) { id = read_some(fd, kMostId); });
  if (!end && end.error().code == Errc::not_found) {
    return fail(Errc::not_found, "images of " + program + " are read with the program '" + program +
                                     "', which is not in the PATH: install it, or name a registry");
  }
  if (!end) return fail(std::move(end).error());
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (end->status.code != 0) return "";
  return id.starts_with("sha256:") ? id : "sha256:" + id;
}

Result<Image> load_saved(Store& store, const std::string& program, const Reference& reference,
                         const std::stop_token& stop) {
  ProgramSpec spec{.argv = {program, "save", reference.asked}};
  // Docker's own format, which podman writes unless told otherwise, knows no zstd.
  if (reference.transport == Transport::containers_storage)
    spec.argv = {program, "save", "--format", "oci-archive", reference.asked};
  LoadSpec how;
  COVE_TRY(how.name, normal_name(reference.name()));
  Result<std::vector<Image>> loaded;
  COVE_TRY(const ProgramEnd end, run_program(spec, stop, [&](int fd) { loaded = load_archive(store, fd, how); }));
  // Half an archive is no archive: what the engine says about it comes first, unless we hung up on it.
  if (end.status.code != 0 && end.status.signal == 0) {
    return fail(Errc::not_found, "'" + program + " save " + reference.asked + "' " + end.status.text() +
                                     (end.err.empty() ? "" : ": " + end.err));
  }
  if (!loaded) return fail(std::move(loaded).error().because("what '" + program + " save' wrote"));
  if (loaded->size() != 1) return fail(Errc::protocol, "'" + program + " save' wrote more than one image");
  return std::move(loaded->front());
}

}  // namespace

Result<Image> pull_from_engine(Store& store, const Reference& reference, Progress& progress,
                               const std::stop_token& stop) {
  const std::string program = program_of(reference.transport);
  COVE_TRY(const UniqueFd held, store.hold());
  COVE_TRY(const std::string id, engine_id(program, reference.asked, stop));
  COVE_TRY(const std::string name, normal_name(reference.name()));
  COVE_TRY(const std::optional<Image> stored, store.find(name));
  const bool same = stored && stored->name == name && stored->config_digest == id &&
                    std::all_of(stored->layers.begin(), stored->layers.end(),
                                [&](const std::string& layer) { return store.has_layer(layer); });
  if (same) {
    progress.note(name + ": is up to date");
    return *stored;
  }
  progress.note(name + ": reading it from " + program);
  auto image = load_saved(store, program, reference, stop);
  if (!image) return fail(std::move(image).error().because("pull " + name));
  progress.note(name + ": " + std::to_string(image->layers.size()) +
                (image->layers.size() == 1 ? " layer" : " layers") + " unpacked");
  return image;
}

}  // namespace cove::image
