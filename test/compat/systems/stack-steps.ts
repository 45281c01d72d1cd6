import type { Answer } from '../../support/upstream/upstream.ts'
import type { Check } from '../checks.ts'
import { post, type Step, sent, user } from '../row.ts'

/** A chat by llama-stack's own route. */
export function stack(fields: object, ...checks: readonly Check[]): Step {
  return post('/v1/inference/chat-completion', { model_id: 'scripted', messages: [user('hello')], ...fields }, ...checks)
}

/** The same, with a model of another server, which answers so. */
export function overStack(answer: Answer, fields: object, ...checks: readonly Check[]): Step {
  return sent({ upstream: answer }, stack({ model_id: 'vllm', ...fields }, ...checks))
}
