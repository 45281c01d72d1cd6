import { join } from 'node:path'
import { type Agent, keyVariable, npm, outputLimit, type Protocol, piProvider, providerName } from './agent.ts'
import { goose, hermes, openclaw } from './personal-agents.ts'

/**
 * Configured by its environment. `env` in the user's settings would override that, and with it the address of the server; a settings file
 * in the arguments overrides both. The user's other settings stay in force.
 */
const claude: Agent = {
  title: 'Claude Code',
  command: 'claude',
  install: npm('@anthropic-ai/claude-code'),
  protocols: ['messages'],
  firstRequestBytes: 48_600,
  setUp: ({ url, apiKey, model, contextLength, folder }) => {
    const env = {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: apiKey,
      // The user's key for another server must not be sent here.
      ANTHROPIC_API_KEY: '',
      ANTHROPIC_MODEL: model,
      // It chooses models by size for its side tasks.
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_SUBAGENT_MODEL: model,
      // Omits a line at the start of the prompt that differs by conversation and would defeat the prompt cache.
      CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
      ...(contextLength !== undefined && windowOf(contextLength)),
    }
    return {
      env,
      // Not in the file, which would override the user's settings.
      ...(contextLength !== undefined && {
        defaults: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(outputLimit(contextLength)) },
      }),
      args: ['--settings', join(folder, 'settings.json')],
      files: { 'settings.json': JSON.stringify({ env }, null, 2) },
    }
  },
}

/** It assumes a million tokens for unknown models. */
function windowOf(contextLength: number): Record<string, string> {
  return {
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextLength),
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(contextLength),
  }
}

/** Configured by a data folder of its own, which is the only way it offers: its sessions end with it. */
const cline: Agent = {
  title: 'Cline',
  command: 'cline',
  install: npm('cline'),
  protocols: ['chat'],
  firstRequestBytes: 21_800,
  setUp: ({ url, apiKey, model, folder }) => {
    const provider = 'openai-compatible'
    const providers = {
      version: 1,
      lastUsedProvider: provider,
      modes: {},
      providers: {
        [provider]: {
          settings: { provider, apiKey, model, baseUrl: `${url}/v1` },
          updatedAt: new Date(0).toISOString(),
          tokenSource: 'manual',
        },
      },
    }
    return {
      env: {},
      args: ['--data-dir', join(folder, 'data')],
      files: { 'data/settings/providers.json': JSON.stringify(providers, null, 2) },
    }
  },
}

/**
 * Configured by `-c KEY=VALUE` in TOML, which overrides the user's file. It warns about the unknown model: a catalog entry would prevent
 * that, but would also replace its instructions, since an entry must contain some.
 */
const codex: Agent = {
  title: 'Codex',
  command: 'codex',
  install: npm('@openai/codex'),
  protocols: ['responses'],
  firstRequestBytes: 39_300,
  setUp: ({ url, apiKey, model, contextLength }) => {
    const provider = {
      name: 'Dragoman',
      base_url: `${url}/v1`,
      env_key: keyVariable,
      wire_api: 'responses',
    }
    const settings = {
      model: toml(model),
      model_provider: toml(providerName),
      [`model_providers.${providerName}`]: `{${Object.entries(provider).map(([key, value]) => `${key}=${toml(value)}`)}}`,
      ...(contextLength !== undefined && { model_context_window: String(contextLength) }),
    }
    return {
      env: { [keyVariable]: apiKey },
      args: Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      files: {},
    }
  },
}

/** A string of JSON is one of TOML. */
function toml(text: string): string {
  return JSON.stringify(text)
}

/** Configured by its environment alone. */
const copilot: Agent = {
  title: 'GitHub Copilot CLI',
  command: 'copilot',
  install: npm('@github/copilot'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 48_000,
  setUp: ({ url, apiKey, model, contextLength, protocol }) => ({
    env: {
      ...providerOf(url)[protocol],
      COPILOT_PROVIDER_API_KEY: apiKey,
      COPILOT_MODEL: model,
      ...(contextLength !== undefined && {
        COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(contextLength - outputLimit(contextLength)),
        COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: String(outputLimit(contextLength)),
      }),
    },
    args: [],
    files: {},
  }),
}

function providerOf(url: string): Record<Protocol, Record<string, string>> {
  const openai = { COPILOT_PROVIDER_TYPE: 'openai', COPILOT_PROVIDER_BASE_URL: `${url}/v1` }
  return {
    chat: { ...openai, COPILOT_PROVIDER_WIRE_API: 'completions' },
    responses: { ...openai, COPILOT_PROVIDER_WIRE_API: 'responses' },
    messages: { COPILOT_PROVIDER_TYPE: 'anthropic', COPILOT_PROVIDER_BASE_URL: url },
  }
}

const droidKinds = { chat: 'generic-chat-completion-api', messages: 'anthropic', responses: 'openai' } as const

/** Configured by a file that is merged into the user's settings while it runs; then it needs no login. */
const droid: Agent = {
  title: 'Factory Droid',
  command: 'droid',
  install: npm('@factory/cli'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 41_400,
  setUp: ({ url, apiKey, model, contextLength, protocol, folder }) => {
    const id = `custom:${providerName}`
    const own = {
      id,
      model,
      displayName: model,
      baseUrl: protocol === 'messages' ? url : `${url}/v1`,
      apiKey: `\${${keyVariable}}`,
      provider: droidKinds[protocol],
      ...(contextLength !== undefined && { maxContextLimit: contextLength, maxOutputTokens: outputLimit(contextLength) }),
    }
    const settings = { customModels: [own], sessionDefaultSettings: { model: id } }
    return {
      env: { [keyVariable]: apiKey },
      args: ['--settings', join(folder, 'settings.json')],
      files: { 'settings.json': JSON.stringify(settings, null, 2) },
    }
  },
}

const kimiKinds = { chat: 'openai', messages: 'anthropic', responses: 'openai_responses' } as const

/** Configured by variables from which it makes a model of its own. */
const kimi: Agent = {
  title: 'Kimi Code',
  command: 'kimi',
  install: npm('@moonshot-ai/kimi-code'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 88_600,
  setUp: ({ url, apiKey, model, contextLength, protocol }) => ({
    env: {
      KIMI_MODEL_NAME: model,
      KIMI_MODEL_PROVIDER_TYPE: kimiKinds[protocol],
      KIMI_MODEL_BASE_URL: protocol === 'messages' ? url : `${url}/v1`,
      KIMI_MODEL_API_KEY: apiKey,
      ...(contextLength !== undefined && {
        KIMI_MODEL_MAX_CONTEXT_SIZE: String(contextLength),
        KIMI_MODEL_MAX_OUTPUT_SIZE: String(outputLimit(contextLength)),
      }),
    },
    args: [],
    files: {},
  }),
}

const packages = { chat: '@ai-sdk/openai-compatible', messages: '@ai-sdk/anthropic', responses: '@ai-sdk/openai' } as const

/** Configured by a variable whose content is merged over the user's files. */
const opencode: Agent = {
  title: 'opencode',
  command: 'opencode',
  install: npm('opencode-ai'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 30_700,
  setUp: ({ url, apiKey, model, contextLength, protocol }) => {
    const limit = contextLength !== undefined && { limit: { context: contextLength, output: outputLimit(contextLength) } }
    const provider = {
      npm: packages[protocol],
      name: 'Dragoman',
      options: { baseURL: `${url}/v1`, apiKey: `{env:${keyVariable}}` },
      models: { [model]: { name: model, ...limit } },
    }
    const name = `${providerName}/${model}`
    const config = { provider: { [providerName]: provider }, model: name, small_model: name }
    return { env: { [keyVariable]: apiKey, OPENCODE_CONFIG_CONTENT: JSON.stringify(config) }, args: [], files: {} }
  },
}

/** Configured by an extension: a folder of its own would hide the user's sessions, logins and skills. */
const pi: Agent = {
  title: 'pi',
  command: 'pi',
  install: npm('@mariozechner/pi-coding-agent'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 5_500,
  reservedTokens: 16_384,
  setUp: (target) => {
    const { apiKey, model, folder } = target
    const provider = { name: 'Dragoman', ...piProvider(target, keyVariable) }
    const extension = `export default (pi) => pi.registerProvider(${JSON.stringify(providerName)}, ${JSON.stringify(provider, null, 2)})\n`
    return {
      env: { [keyVariable]: apiKey },
      args: ['--extension', join(folder, 'extension.js'), '--provider', providerName, '--model', model],
      files: { 'extension.js': extension },
    }
  },
}

const kinds = { chat: 'openai', messages: 'anthropic', responses: 'openai-responses' } as const

/** Configured by a file that it reads as the machine's, which overrides the user's and the project's. */
const qwen: Agent = {
  title: 'Qwen Code',
  command: 'qwen',
  install: npm('@qwen-code/qwen-code'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 75_900,
  setUp: ({ url, apiKey, model, contextLength, protocol, folder }) => {
    const kind = kinds[protocol]
    const provider = {
      id: model,
      name: model,
      envKey: keyVariable,
      baseUrl: protocol === 'messages' ? url : `${url}/v1`,
      ...(contextLength !== undefined && {
        generationConfig: { contextWindowSize: contextLength, samplingParams: { max_tokens: outputLimit(contextLength) } },
      }),
    }
    const settings = {
      modelProviders: { [kind]: [provider] },
      security: { auth: { selectedType: kind } },
      model: { name: model },
    }
    return {
      env: { [keyVariable]: apiKey, QWEN_CODE_SYSTEM_SETTINGS_PATH: join(folder, 'settings.json') },
      args: [],
      files: { 'settings.json': JSON.stringify(settings, null, 2) },
    }
  },
}

/** Configured by a data folder of its own, with the user's extensions; without one, an open window would take its arguments. */
const code: Agent = {
  title: 'VS Code',
  command: 'code',
  install: 'https://code.visualstudio.com/download',
  protocols: ['chat', 'responses'],
  setUp: ({ url, apiKey, model, contextLength = 32_768, protocol, folder }) => {
    const served = {
      id: model,
      name: model,
      url: `${url}/v1/${protocol === 'chat' ? 'chat/completions' : 'responses'}`,
      toolCalling: true,
      vision: false,
      maxInputTokens: contextLength - outputLimit(contextLength),
      maxOutputTokens: outputLimit(contextLength),
    }
    const apiType = protocol === 'chat' ? 'chat-completions' : 'responses'
    const vendor = { vendor: 'customendpoint', name: 'Dragoman', apiKey, apiType, models: [served] }
    return {
      env: {},
      args: ['--user-data-dir', join(folder, 'data'), '--new-window', '--wait'],
      files: { 'data/User/chatLanguageModels.json': JSON.stringify([vendor], null, 2) },
    }
  },
}

/** The agents that `dragoman launch` starts, by name. */
export const agents: ReadonlyMap<string, Agent> = new Map(
  [claude, codex, copilot, qwen, opencode, pi, cline, droid, kimi, openclaw, hermes, goose, code].map((agent) => [
    agent.command,
    agent,
  ]),
)
