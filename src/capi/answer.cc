#include "capi/answer.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "record/outcome_json.h"

namespace cove::capi {

char* give(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) std::abort();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

char* give(const nlohmann::json& json) { return give(json_text(json)); }

char* give(const Error& error) {
  // As programs write it.
  const std::string code = error.code == Errc::not_found ? "not_found" : std::string(name(error.code));
  return give(nlohmann::json{{"error", {{"code", code}, {"message", error.message}}}});
}

char* give_caught(const std::exception& caught) {
  if (dynamic_cast<const nlohmann::json::exception*>(&caught) != nullptr)
    return give(Error{Errc::invalid, std::string("the request is not understood: ") + caught.what()});
  return give(Error{Errc::internal, caught.what()});
}

nlohmann::json to_json(const Outcome& outcome) {
  nlohmann::json json = record::outcome_json(outcome);
  if (!outcome.error_text.empty()) json["problem"] = outcome.error_text;
  return json;
}

nlohmann::json to_json(const FileInfo& info) {
  constexpr const char* kTypes[] = {"file", "directory", "symlink", "other"};
  return {{"name", info.name},         {"type", kTypes[static_cast<std::size_t>(info.type)]},
          {"mode", info.mode},         {"uid", info.uid},
          {"gid", info.gid},           {"size", info.size},
          {"mtime_ns", info.mtime_ns}, {"link_target", info.link_target}};
}

Call call_of(const cove_hooks* hooks) {
  Call call;
  if (hooks != nullptr && hooks->stop != nullptr) call.stop = hooks->stop->source.get_token();
  return call;
}

CommandIo io_of(const cove_hooks* hooks) {
  CommandIo io;
  if (hooks == nullptr) return io;
  if (hooks->output != nullptr) {
    io.output = [hooks](Stream stream, std::string_view bytes) {
      hooks->output(hooks->user, stream == Stream::err ? 2 : 1, bytes.data(), bytes.size());
    };
  }
  if (hooks->tick != nullptr) {
    io.activity = [hooks] { hooks->tick(hooks->user); };
    io.activity_every = std::chrono::milliseconds(hooks->tick_ms == 0 ? 10'000 : hooks->tick_ms);
  }
  return io;
}

terminal::Hooks terminal_hooks(const cove_hooks* hooks) {
  terminal::Hooks all;
  if (hooks == nullptr) return all;
  const CommandIo io = io_of(hooks);
  all.stop = call_of(hooks).stop;
  all.activity = io.activity;
  all.activity_every = io.activity_every;
  if (hooks->approve != nullptr) {
    all.approve = [hooks](const policy::Question& question) -> std::optional<policy::Answer> {
      const int answer = hooks->approve(hooks->user, question.command.c_str(), question.sentence.c_str());
      if (answer < COVE_ONCE || answer > COVE_ALWAYS) return policy::Answer::deny;
      return static_cast<policy::Answer>(answer);
    };
  }
  return all;
}

}  // namespace cove::capi

extern "C" {

int cove_abi(void) { return COVE_ABI; }
const char* cove_version(void) { return COVE_VERSION; }
void cove_free(char* text) { std::free(text); }

cove_stop* cove_stop_new(void) { return new cove_stop; }
void cove_stop_request(cove_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}
void cove_stop_free(cove_stop* stop) { delete stop; }

}  // extern "C"
