import { join } from 'node:path'
import { type Agent, outputLimit } from './agent.ts'

/**
 * Configured by its environment. `env` in the user's own settings would win over that, and so over the address of the server; a file that
 * is named in the arguments wins over both. What the user's settings say besides stays in force.
 */
export const claude: Agent = {
  title: 'Claude Code',
  command: 'claude',
  npmPackage: '@anthropic-ai/claude-code',
  protocols: ['messages'],
  firstRequestBytes: 48_600,
  setUp: ({ url, apiKey, model, contextLength, folder }) => {
    const env = {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: apiKey,
      // A key of the user's for another server would be sent here.
      ANTHROPIC_API_KEY: '',
      ANTHROPIC_MODEL: model,
      // It chooses models by size for its side tasks.
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_SUBAGENT_MODEL: model,
      // A line at the start of the prompt that differs by conversation, so that no other could use its cache.
      CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
      ...(contextLength !== undefined && windowOf(contextLength)),
    }
    return {
      env,
      args: ['--settings', join(folder, 'settings.json')],
      files: { 'settings.json': JSON.stringify({ env }, null, 2) },
    }
  },
}

/** It assumes a million tokens for models that it does not know. */
function windowOf(contextLength: number): Record<string, string> {
  return {
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextLength),
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(contextLength),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(outputLimit(contextLength)),
  }
}
