import { type Agent, keyVariable, outputLimit, providerName } from './agent.ts'

const packages = { chat: '@ai-sdk/openai-compatible', messages: '@ai-sdk/anthropic', responses: '@ai-sdk/openai' } as const

/** Configured by a variable whose content is merged over the user's files. */
export const opencode: Agent = {
  title: 'opencode',
  command: 'opencode',
  npmPackage: 'opencode-ai',
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
