import { join } from 'node:path'
import { type Agent, keyVariable, npm, outputLimit, piProvider, providerName } from './agent.ts'

/** Configured by its environment alone, which wins over its file and the keys that it keeps. */
export const goose: Agent = {
  title: 'Goose',
  command: 'goose',
  install: 'https://goose-docs.ai/docs/getting-started/installation',
  protocols: ['chat'],
  setUp: ({ url, apiKey, model, contextLength }) => ({
    env: {
      GOOSE_PROVIDER: 'openai',
      OPENAI_HOST: url,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      OPENAI_API_KEY: apiKey,
      GOOSE_MODEL: model,
      ...(contextLength !== undefined && {
        GOOSE_CONTEXT_LIMIT: String(contextLength),
        GOOSE_MAX_TOKENS: String(outputLimit(contextLength)),
      }),
    },
    args: [],
    files: {},
  }),
}

/**
 * Configured by a data folder of its own: a key for another server than its own reaches it by its file only. It refuses models with
 * shorter contexts.
 */
export const hermes: Agent = {
  title: 'Hermes Agent',
  command: 'hermes',
  install: ['pip', 'install', 'hermes-agent'],
  protocols: ['chat'],
  firstRequestBytes: 59_700,
  shortestContext: 64_000,
  setUp: ({ url, apiKey, model, contextLength, folder }) => {
    const settings = {
      model: {
        provider: 'custom',
        base_url: `${url}/v1`,
        api_key: apiKey,
        default: model,
        ...(contextLength !== undefined && { context_length: contextLength }),
      },
    }
    // JSON is YAML.
    const files = { 'home/config.yaml': JSON.stringify(settings, null, 2) }
    return { env: { HERMES_HOME: join(folder, 'home') }, args: [], files }
  },
}

/** Configured by a file of its own, without the user's channels; it runs here, without its gateway. */
export const openclaw: Agent = {
  title: 'OpenClaw',
  command: 'openclaw',
  install: npm('openclaw'),
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 54_700,
  setUp: (target) => {
    const { apiKey, model, folder } = target
    const provider = piProvider(target, `\${${keyVariable}}`)
    const settings = {
      models: { mode: 'merge', providers: { [providerName]: provider } },
      agents: { defaults: { model: { primary: `${providerName}/${model}` } } },
    }
    return {
      env: { [keyVariable]: apiKey, OPENCLAW_CONFIG_PATH: join(folder, 'openclaw.json') },
      args: ['chat'],
      files: { 'openclaw.json': JSON.stringify(settings, null, 2) },
    }
  },
}
