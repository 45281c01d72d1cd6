import { join } from 'node:path'
import { type Agent, keyVariable, outputLimit } from './agent.ts'

const kinds = { chat: 'openai', messages: 'anthropic', responses: 'openai-responses' } as const

/** Configured by a file that it reads as the machine's, which wins over the user's and the project's. */
export const qwen: Agent = {
  title: 'Qwen Code',
  command: 'qwen',
  npmPackage: '@qwen-code/qwen-code',
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
