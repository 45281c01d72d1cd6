import { type Agent, keyVariable, providerName } from './agent.ts'

/**
 * Configured by `-c KEY=VALUE` in TOML, which wins over the user's file. It warns that it does not know the model: a catalog would spare
 * that, and would take its own instructions from the prompt, because an entry has to bring others.
 */
export const codex: Agent = {
  title: 'Codex',
  command: 'codex',
  npmPackage: '@openai/codex',
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
