#include "mcp/sandboxes.h"

#include <algorithm>

#include "cli/prove.h"
#include "image/reference.h"

namespace cove::mcp {
namespace {

// A path would show a directory of the host; the local engines' images are somebody's, too. Apptainer knows more
// schemes, some of them for paths.
Result<void> check_image(const std::string& image) {
  constexpr std::string_view kSchemes[] = {"docker:", "docker-archive:", "oci:", "oci-archive:"};
  const bool scheme = image.find("://") != image.npos || std::any_of(std::begin(kSchemes), std::end(kSchemes),
                                                                     [&](auto one) { return image.starts_with(one); });
  const auto reference = image::parse_reference(image);
  if (image == "host" || (!scheme && reference && reference->transport == image::Transport::registry)) return {};
  return fail(Errc::denied, "image " + image + ": give 'host' or the name of an image in a registry");
}

Failure unknown(const std::string& name) {
  return fail(Errc::not_found,
              "there is no sandbox " + name + " here: see sandbox_list, or make one by sandbox_create");
}

}  // namespace

bool Sandboxes::may_use(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  return rules_.all || made_.contains(name) || kept_names_.contains(name) ||
         std::find(rules_.shared.begin(), rules_.shared.end(), name) != rules_.shared.end();
}

// Of a sandbox that is not ours to end forks are not, either.
Sandboxes::Life Sandboxes::life_of(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  return made_.contains(name) && !kept_names_.contains(name) ? Life::ours : Life::kept;
}

Result<SandboxSpec> Sandboxes::make_spec(const Wish& wish) const {
  cli::SpecOptions options = rules_.spec;
  if (!wish.image.empty()) {
    COVE_CHECK(check_image(wish.image));
    options.settings["image"] = wish.image;
  }
  if (!wish.from.empty()) {
    const std::lock_guard guard(mutex_);
    if (!rules_.all && !tags_.contains(wish.from))
      return fail(Errc::not_found, "no snapshot " + wish.from + " has been made here: see sandbox_snapshot");
    options.from = wish.from;
  }
  options.env.insert(options.env.end(), wish.env.begin(), wish.env.end());
  options.checkpoint = options.checkpoint || wish.checkpoint;
  options.persistent = options.persistent || wish.keep;
  COVE_TRY(SandboxSpec spec, cli::make_spec(options));
  spec.name = wish.name;
  spec.owned = !wish.keep;
  if (spec.owned) spec.persistent = false;
  return spec;
}

Result<void> Sandboxes::reserve(std::size_t count) {
  const std::lock_guard guard(mutex_);
  if (made_.size() + reserved_ + count > kMostSandboxes)
    return fail(Errc::busy,
                "there would be more than " + std::to_string(kMostSandboxes) + " sandboxes: end some by sandbox_stop");
  reserved_ += count;
  return {};
}

void Sandboxes::keep(std::size_t reserved, std::vector<Sandbox> made, Life life) {
  const std::lock_guard guard(mutex_);
  reserved_ -= reserved;
  for (Sandbox& sandbox : made) {
    const std::string name = sandbox.name();
    made_[name] = std::make_shared<Sandbox>(std::move(sandbox));
    if (life == Life::kept) kept_names_.insert(name);
  }
}

Result<Sandbox> Sandboxes::make(const SandboxSpec& spec, const Call& call) const {
  COVE_TRY(Sandbox sandbox, Sandbox::create(spec, call));
  if (rules_.spec.prove) COVE_CHECK(cli::prove(sandbox, spec.backend, call.stop));
  return sandbox;
}

Result<Sandboxes::Made> Sandboxes::create(const Wish& wish, const Call& call) {
  COVE_TRY(const SandboxSpec spec, make_spec(wish));
  COVE_CHECK(reserve(1));
  auto sandbox = make(spec, call);
  std::vector<Sandbox> made;
  Made about{.backend = spec.backend};
  if (sandbox) {
    about.name = sandbox->name();
    about.notes = sandbox->notes();
    made.push_back(std::move(*sandbox));
  }
  keep(1, std::move(made), wish.keep ? Life::kept : Life::ours);
  if (!sandbox) return fail(std::move(sandbox).error());
  return about;
}

Result<std::shared_ptr<Sandbox>> Sandboxes::find(const std::string& name, const Call& call) {
  if (!may_use(name)) return unknown(name);
  {
    const std::lock_guard guard(mutex_);
    const auto found = made_.find(name);
    if (found != made_.end()) return found->second;
  }
  COVE_TRY(const auto record, record::Record::open(name));
  COVE_TRY(const auto info, record.info());
  auto opened = info.life == record::Life::stopped ? Sandbox::restart(name, call) : Sandbox::open(name);
  if (!opened) return fail(std::move(opened).error());
  return std::make_shared<Sandbox>(std::move(*opened));
}

Result<std::vector<record::Info>> Sandboxes::list() const {
  COVE_TRY(auto all, record::list());
  std::erase_if(all, [&](const record::Info& info) { return !may_use(info.name); });
  return all;
}

Result<std::vector<std::string>> Sandboxes::fork(const std::string& name, std::size_t count, const Call& call) {
  COVE_TRY(const auto sandbox, find(name, call));
  COVE_CHECK(reserve(count));
  auto forks = sandbox->fork(count, call);
  std::vector<std::string> names;
  if (forks) {
    for (const Sandbox& fork : *forks) names.push_back(fork.name());
  }
  keep(count, forks ? std::move(*forks) : std::vector<Sandbox>(), life_of(name));
  if (!forks) return fail(std::move(forks).error());
  return names;
}

Result<std::string> Sandboxes::snapshot(const std::string& name, const std::string& tag, const Call& call) {
  COVE_TRY(const auto sandbox, find(name, call));
  COVE_TRY(std::string made, sandbox->snapshot(tag, call));
  const std::lock_guard guard(mutex_);
  tags_.insert(tag);
  return made;
}

Result<void> Sandboxes::stop(const std::string& name, proto::StopRequest request, const Call& call) {
  if (!may_use(name)) return unknown(name);
  std::shared_ptr<Sandbox> sandbox;
  bool made_here = false;
  {
    const std::lock_guard guard(mutex_);
    const auto found = made_.find(name);
    if (found != made_.end()) sandbox = found->second;
    made_here = sandbox != nullptr || kept_names_.contains(name);
  }
  if (request.remove && !made_here)
    return fail(Errc::denied, "sandbox " + name + " was not made here: only whoever shares it may remove it");
  if (sandbox == nullptr && request.remove) return Sandbox::remove(name, call);
  if (sandbox == nullptr) {
    COVE_TRY(auto opened, Sandbox::open(name));
    return opened.stop(request, call);
  }
  auto stopped = sandbox->stop(request, call);
  // One whose keeper has gone is no longer there to be stopped.
  const bool gone = stopped || stopped.error().code == Errc::disconnected || stopped.error().code == Errc::not_found;
  const std::lock_guard guard(mutex_);
  if (gone) made_.erase(name);
  if (gone && request.remove) kept_names_.erase(name);
  return stopped;
}

void Sandboxes::end_all() {
  std::map<std::string, std::shared_ptr<Sandbox>> all;
  {
    const std::lock_guard guard(mutex_);
    all.swap(made_);
  }
  // Now, and not when the last who uses it lets go: commands with an open stdin are followed until they end.
  for (const auto& [name, sandbox] : all) {
    if (!kept_names_.contains(name)) [[maybe_unused]]
      const auto stopped = sandbox->stop({}, {.deadline = Deadline::after(std::chrono::seconds(10))});
  }
}

}  // namespace cove::mcp
