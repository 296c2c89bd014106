#include "selftest/stage.h"

#include <sys/stat.h>

#include <cstdlib>

#include "backend/guest_path.h"
#include "backend/traits.h"

namespace cove::selftest {
namespace {

// An attempt that is not over in time counts as broken, so a busy machine must not be taken for a broken wall.
constexpr std::chrono::seconds kAttemptTime{60};

}  // namespace

Result<std::unique_ptr<Stage>> Stage::set(const SandboxSpec& base, std::stop_token stop) {
  COVE_TRY(const std::string path, find_companion("cove-attempt", "COVE_ATTEMPT"));
  COVE_TRY(Bait bait, Bait::lay());
  std::unique_ptr<Stage> stage(new Stage(base, std::move(bait)));
  stage->program_path_ = path;
  stage->program_ = host_content(path);
  stage->stop_ = std::move(stop);
  for (const std::string& directory : {stage->shelf(), stage->volume(), stage->frozen()}) {
    if (mkdir(directory.c_str(), 0755) < 0) return fail_errno("make " + directory);
    COVE_CHECK(stage->bait_.put(directory + (directory == stage->shelf() ? "/secret" : "/file"), 0644));
  }
  setenv(kVariable, stage->bait_.secret().c_str(), 1);
  COVE_TRY(HostProcess process, HostProcess::start(path, stage->bait_.secret()));
  stage->process_ = std::move(process);
  stage->begin();
  COVE_CHECK(stage->inside());
  return stage;
}

Stage::~Stage() { unsetenv(kVariable); }

void Stage::begin() { deadline_ = Deadline::after(kAttemptTime); }

HostProcess& Stage::process() {
  if (!process_->alive()) {
    if (auto again = HostProcess::start(program_path_, bait_.secret())) process_ = std::move(*again);
  }
  return *process_;
}

SandboxSpec Stage::spec() const {
  SandboxSpec spec;
  copy_fields(spec, base_, kKind);
  spec.owned = true;
  spec.login = false;
  if (traits_of(spec.backend).is_this_machine) spec.cwd = bait_.work();
  return spec;
}

Result<Inside> Stage::make(const SandboxSpec& spec) { return Inside::make(spec, program_, call()); }

Result<Inside*> Stage::inside() {
  if (!inside_) {
    COVE_TRY(Inside made, make(spec()));
    inside_.emplace(std::move(made));
  }
  return &*inside_;
}

Ran Stage::act(const std::vector<std::string>& words, Inside::On on) {
  auto place = inside();
  if (!place) return {.trouble = place.error().text()};
  Ran ran = (*place)->act(words, call(), on);
  if (ran.gone) inside_.reset();
  return ran;
}

Ran Stage::shell(const std::string& script) {
  auto place = inside();
  if (!place) return {.trouble = place.error().text()};
  Ran ran = (*place)->shell(script, call());
  if (ran.gone) inside_.reset();
  return ran;
}

Result<Stage::Volumes> Stage::make_volumes() {
  SandboxSpec with = spec();
  with.volumes = {volume() + ":/selftest/volume", frozen() + ":/selftest/frozen:ro"};
  auto made = make(with);
  if (made) return Volumes{std::move(*made), "/selftest/volume", "/selftest/frozen", true};
  if (made.error().code != Errc::unsupported) return fail(std::move(made).error());
  COVE_TRY(Inside plain, make(spec()));
  const Ran ran = plain.shell("test -d " + session::quote(volume()), call());
  if (ran.code != 0) return fail(std::move(made).error());
  return Volumes{std::move(plain), volume(), frozen(), false};
}

Result<Stage::Volumes*> Stage::volumes() {
  if (!volumes_) {
    COVE_TRY(Volumes made, make_volumes());
    volumes_.emplace(std::move(made));
  }
  return &*volumes_;
}

}  // namespace cove::selftest
