import { UpstreamError } from '../transport/upstream-error.ts'
import type { Abilities, ProbedServer } from './abilities.ts'

const field = 'reasoning_budget_tokens'

/** Whether a llama-server limits reasoning: if it knows the field, its refusal of an invalid budget names the field. */
export async function askOfBudgets({
  client,
  endpoint,
  model,
  signal,
}: ProbedServer): Promise<Pick<Abilities, 'reasoningBudget'>> {
  // Without the field, this is an empty completion.
  const body = { model, prompt: '', n_predict: 0, cache_prompt: false, [field]: -2 }
  try {
    await client.ask(endpoint, { method: 'POST', path: '/completion', fromRoot: true, body }, signal)
    return { reasoningBudget: false }
  } catch (error) {
    signal.throwIfAborted()
    return { reasoningBudget: error instanceof UpstreamError && error.message.includes(field) }
  }
}
