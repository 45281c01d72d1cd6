import { join } from 'node:path'
import { type Agent, keyVariable, outputLimit, providerName } from './agent.ts'

const apis = { chat: 'openai-completions', messages: 'anthropic-messages', responses: 'openai-responses' } as const

/** Configured by an extension: a folder of its own would hide the user's sessions, logins and skills. */
export const pi: Agent = {
  title: 'pi',
  command: 'pi',
  npmPackage: '@mariozechner/pi-coding-agent',
  protocols: ['chat', 'messages', 'responses'],
  firstRequestBytes: 5_500,
  reservedTokens: 16_384,
  setUp: ({ url, apiKey, model, contextLength, protocol, folder }) => {
    const provider = {
      name: 'Dragoman',
      baseUrl: protocol === 'messages' ? url : `${url}/v1`,
      api: apis[protocol],
      apiKey: keyVariable,
      models: [
        {
          id: model,
          name: model,
          reasoning: false,
          input: ['text'],
          cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          ...(contextLength !== undefined && { contextWindow: contextLength, maxTokens: outputLimit(contextLength) }),
        },
      ],
    }
    const extension = `export default (pi) => pi.registerProvider(${JSON.stringify(providerName)}, ${JSON.stringify(provider, null, 2)})\n`
    return {
      env: { [keyVariable]: apiKey },
      args: ['--extension', join(folder, 'extension.js'), '--provider', providerName, '--model', model],
      files: { 'extension.js': extension },
    }
  },
}
