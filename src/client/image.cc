#include "client/image.h"

#include <unistd.h>

#include "backend/guest_path.h"
#include "backend/traits.h"
#include "image/store.h"
#include "os/child.h"
#include "record/record.h"

extern char** environ;

namespace cove {
namespace {

bool is_stored(const SandboxSpec& spec) {
  return !spec.image.empty() && spec.image != "host" && !spec.image.starts_with('/') &&
         traits_of(spec.backend).images == Images::store;
}

// By the program that has what it takes. Its progress is for people; an error of its own says all there is to say.
Result<void> pull(const std::string& image, PullOutput output) {
  COVE_TRY(const std::string program, find_companion("cove-image", "COVE_IMAGE_PROGRAM"));
  os::ExecSpec exec;
  exec.program = program;
  exec.argv = {"cove-image", "pull", image};
  if (output == PullOutput::quiet) exec.argv.insert(exec.argv.begin() + 2, "--quiet");
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) exec.env.emplace_back(*entry);
  exec.fds = {{2, 1}};
  COVE_TRY(os::Child child, os::Child::spawn(exec));
  COVE_TRY(const os::ExitStatus status, child.wait(Deadline::never()));
  if (status.code == 0) return {};
  return fail(status.code == 130 ? Errc::cancelled : Errc::not_found, "image " + image + " could not be fetched");
}

Result<image::Image> find_or_fetch(const SandboxSpec& spec, PullOutput output) {
  COVE_TRY(const std::string home, record::home());
  COVE_TRY(image::Store store, image::Store::open(home));
  if (spec.pull == "always") COVE_CHECK(pull(spec.image, output));
  COVE_TRY(auto found, store.find(spec.image));
  if (!found && spec.pull == "missing") {
    COVE_CHECK(pull(spec.image, output));
    COVE_TRY(found, store.find(spec.image));
  }
  if (found) return std::move(*found);
  return fail(Errc::not_found, "image " + spec.image +
                                   " is not here: 'cove image ls' lists those that are, 'cove image " +
                                   "pull' fetches others");
}

}  // namespace

Result<UniqueFd> hold_image(const SandboxSpec& spec) {
  if (!is_stored(spec)) return UniqueFd();
  COVE_TRY(const std::string home, record::home());
  COVE_TRY(const image::Store store, image::Store::open(home));
  return store.hold();
}

Result<std::vector<std::string>> settle_image(SandboxSpec& spec, PullOutput output) {
  if (!is_stored(spec) || !spec.image_layers.empty()) return std::vector<std::string>{};
  COVE_TRY(image::Image image, find_or_fetch(spec, output));
  spec.image = image.name;
  spec.image_layers = image.layers;
  if (spec.cwd.empty()) spec.cwd = image.config.cwd;
  if (spec.user.empty()) spec.user = image.config.user.substr(0, image.config.user.find(':'));
  spec.command = image.config.entrypoint;
  spec.command.insert(spec.command.end(), image.config.cmd.begin(), image.config.cmd.end());
  return std::move(image.config.env);
}

}  // namespace cove
