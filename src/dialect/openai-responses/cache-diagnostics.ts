import type { ComparedPrompt, PromptChange } from '../../contract/usage.ts'
import type { WireResponse } from './replies.ts'

/** OpenAI's outcome of a comparison with an earlier response. */
export function encodeDiagnostics(compared: ComparedPrompt): NonNullable<WireResponse['prompt_cache_diagnostics']> {
  if (compared === 'same') return { type: 'cache_hit' }
  if (compared === 'unknown') return { type: 'comparison_response_not_found' }
  const reason = reasonOf(compared)
  if (reason === undefined) return { type: 'unavailable' }
  return { type: 'cache_miss', reason, cache_missed_tokens: compared.missedTokens }
}

/** Undefined: OpenAI has no word for the setting that changed. */
function reasonOf({ part, at }: PromptChange): string | undefined {
  if (part === 'model') return 'model_changed'
  if (part === 'tool') return 'tools_changed'
  if (part !== 'setting') return 'input_changed'
  return at[0] === 'reasoning' ? 'reasoning_effort_changed' : undefined
}
