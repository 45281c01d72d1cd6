import type { ComparedPrompt, PromptChange } from '../../contract/usage.ts'
import type { WireMessage } from './replies.ts'

/** Why a prompt cache could not serve all of the earlier prompt; null without a comparison, and without a difference. */
export function encodeDiagnostics(compared: ComparedPrompt | undefined): WireMessage['diagnostics'] {
  if (compared === undefined || compared === 'same') return null
  if (compared === 'unknown') return { cache_miss_reason: { type: 'previous_message_not_found' } }
  const type = reasonOf(compared)
  const missed = { cache_missed_input_tokens: compared.missedTokens }
  return { cache_miss_reason: { type, ...(type !== 'unavailable' && missed) } }
}

function reasonOf({ part, isSystem }: PromptChange): string {
  if (part === 'model') return 'model_changed'
  if (part === 'tool') return 'tools_changed'
  // Anthropic's word for an option that may change the prompt.
  if (part === 'setting') return 'unavailable'
  return isSystem === true ? 'system_changed' : 'messages_changed'
}
