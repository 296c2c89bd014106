#include "policy/secrets.h"

#include <algorithm>
#include <array>
#include <string>

namespace cove::policy {
namespace {

// Everything that begins so: keys, base URLs, organisations, model choices.
constexpr std::array<std::string_view, 62> kPrefixes{
    // Model providers.
    "OPENAI_", "ANTHROPIC_", "OPENROUTER_", "AZURE_OPENAI_", "GEMINI_", "GOOGLE_API_", "GOOGLE_GENERATIVE_AI_",
    "VERTEX_", "VERTEXAI_", "DEEPSEEK_", "MISTRAL_", "GROQ_", "TOGETHER_", "TOGETHERAI_", "PERPLEXITY_", "PPLX_",
    "COHERE_", "CO_API_", "FIREWORKS_", "XAI_", "HELICONE_", "PARALLEL_API_", "FIRECRAWL_", "NOUS_", "MOONSHOT_",
    "KIMI_", "MINIMAX_", "ZAI_", "GLM_", "ZHIPU", "DASHSCOPE_", "QWEN_", "CEREBRAS_", "SAMBANOVA_", "NVIDIA_API_",
    "HUGGINGFACE_", "HUGGING_FACE_", "REPLICATE_", "ELEVENLABS_", "TAVILY_", "EXA_API_", "LANGSMITH_", "AUXILIARY_",
    // Clouds and sandbox services.
    "MODAL_TOKEN_", "DAYTONA_", "VERCEL_", "E2B_", "CLOUDFLARE_API_", "BROWSERBASE_",
    // Chat services.
    "TELEGRAM_", "DISCORD_", "SLACK_", "WHATSAPP_", "SIGNAL_", "HASS_", "MATRIX_", "MATTERMOST_", "EMAIL_", "TWILIO_",
    // CI and code hosts; GITHUB_WORKSPACE and its like are no secrets.
    "GITHUB_APP_", "ACTIONS_ID_TOKEN_", "ACTIONS_RUNTIME_"};

constexpr std::array<std::string_view, 34> kNames{"GH_TOKEN",
                                                  "GITHUB_TOKEN",
                                                  "GITHUB_PAT",
                                                  "GH_ENTERPRISE_TOKEN",
                                                  "GITHUB_ENTERPRISE_TOKEN",
                                                  "GITLAB_TOKEN",
                                                  "CI_JOB_TOKEN",
                                                  "CI_REGISTRY_PASSWORD",
                                                  "CI_DEPLOY_PASSWORD",
                                                  "CIRCLE_TOKEN",
                                                  "BUILDKITE_AGENT_ACCESS_TOKEN",
                                                  "TRAVIS_TOKEN",
                                                  "CODECOV_TOKEN",
                                                  "NPM_TOKEN",
                                                  "NODE_AUTH_TOKEN",
                                                  "PYPI_TOKEN",
                                                  "TWINE_PASSWORD",
                                                  "CARGO_REGISTRY_TOKEN",
                                                  "HF_TOKEN",
                                                  "WANDB_API_KEY",
                                                  "VOYAGE_API_KEY",
                                                  "GOOGLE_APPLICATION_CREDENTIALS",
                                                  "GOOGLE_CREDENTIALS",
                                                  "AWS_BEARER_TOKEN_BEDROCK",
                                                  "AZURE_CLIENT_SECRET",
                                                  "ARM_CLIENT_SECRET",
                                                  "DIGITALOCEAN_ACCESS_TOKEN",
                                                  "FLY_API_TOKEN",
                                                  "HEROKU_API_KEY",
                                                  "DOCKER_PASSWORD",
                                                  "DOCKER_AUTH_CONFIG",
                                                  "SUDO_PASSWORD",
                                                  "VAULT_TOKEN",
                                                  "SENTRY_AUTH_TOKEN"};

constexpr std::array<std::string_view, 10> kTellingEnds{"_KEY",    "_KEY_ID",     "_TOKEN", "_SECRET",      "_PASSWORD",
                                                        "_PASSWD", "_PASSPHRASE", "_PAT",   "_CREDENTIALS", "_AUTH"};
constexpr std::array<std::string_view, 6> kTellingWords{"SECRET", "PASSWORD", "TOKEN",
                                                        "APIKEY", "API_KEY",  "CREDENTIAL"};
constexpr std::array<std::string_view, 4> kTellingPrefixes{"AWS_", "AZURE_", "SSH_AUTH_", "SSH_AGENT_"};

std::string upper(std::string_view name) {
  std::string all(name);
  std::transform(all.begin(), all.end(), all.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return all;
}

template <class List>
bool begins_with_any(std::string_view name, const List& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

}  // namespace

bool is_provider_secret(std::string_view name) {
  const std::string wanted = upper(name);
  if (begins_with_any(wanted, kPrefixes)) return true;
  if (std::find(kNames.begin(), kNames.end(), wanted) != kNames.end()) return true;
  const std::string_view view = wanted;
  return view.starts_with("GATEWAY_RELAY_") &&
         (view.ends_with("_SECRET") || view.ends_with("_KEY") || view.ends_with("_TOKEN"));
}

bool looks_secret(std::string_view name) {
  const std::string wanted = upper(name);
  const std::string_view view = wanted;
  if (is_provider_secret(view) || begins_with_any(view, kTellingPrefixes)) return true;
  for (const std::string_view end : kTellingEnds) {
    if (view.ends_with(end)) return true;
  }
  return std::any_of(kTellingWords.begin(), kTellingWords.end(),
                     [&](std::string_view word) { return view.find(word) != std::string_view::npos; });
}

}  // namespace cove::policy
