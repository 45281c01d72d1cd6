import { type Agent, outputLimit, type Protocol } from './agent.ts'

/** Configured by its environment alone. */
export const copilot: Agent = {
  title: 'GitHub Copilot CLI',
  command: 'copilot',
  npmPackage: '@github/copilot',
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
