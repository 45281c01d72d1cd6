import { join } from 'node:path'
import { type Agent, keyVariable, providerName } from './agent.ts'

/** Configured by `-c KEY=VALUE` in TOML, which wins over the user's file. A catalog with the model spares it guesses, and a warning. */
export const codex: Agent = {
  title: 'Codex',
  command: 'codex',
  npmPackage: '@openai/codex',
  protocols: ['responses'],
  firstRequestBytes: 21_300,
  setUp: ({ url, apiKey, model, contextLength, folder }) => {
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
      ...(contextLength !== undefined && { model_catalog_json: toml(join(folder, 'models.json')) }),
    }
    return {
      env: { [keyVariable]: apiKey },
      args: Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      files:
        contextLength === undefined
          ? {}
          : { 'models.json': JSON.stringify({ models: [catalogEntry(model, contextLength)] }, null, 2) },
    }
  },
}

/** A string of JSON is one of TOML. */
function toml(text: string): string {
  return JSON.stringify(text)
}

/** All fields that version 0.169 requires. */
function catalogEntry(model: string, contextLength: number) {
  return {
    slug: model,
    display_name: model,
    context_window: contextLength,
    shell_type: 'default',
    visibility: 'list',
    supported_in_api: true,
    priority: 0,
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    input_modalities: ['text'],
    base_instructions: '',
    support_verbosity: false,
    supports_parallel_tool_calls: true,
    supports_reasoning_summaries: false,
    supported_reasoning_levels: [],
    experimental_supported_tools: [],
  }
}
