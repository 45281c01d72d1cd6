import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../../support/upstream/upstream.ts'
import { saying } from '../answers.ts'
import { type Check, has } from '../checks.ts'
import { post, type Step, sent, user } from '../row.ts'

/** A chat by llama-stack's own route. */
export function stack(fields: object, ...checks: readonly Check[]): Step {
  return post('/v1/inference/chat-completion', { model_id: 'scripted', messages: [user('hello')], ...fields }, ...checks)
}

/** The same, with a model of another server, which answers so. */
export function overStack(answer: Answer, fields: object, ...checks: readonly Check[]): Step {
  return sent({ upstream: answer }, stack({ model_id: 'vllm', ...fields }, ...checks))
}

/** A tool with one text. */
export const f = {
  tool_name: 'f',
  description: 'd',
  parameters: { a: { param_type: 'string', description: 'x', required: true } },
}

/** A chat with `f`, in which the model of another server writes this. */
export function says(raw: string, fields: object, ...checks: readonly Check[]): Step {
  return overStack(saying(raw), { tools: [f], ...fields }, ...checks)
}

export const content = (wanted: unknown) => has('completion_message.content', wanted)
export const stopReason = (wanted: string) => has('completion_message.stop_reason', wanted)

type StackCall = { readonly tool_name: string; readonly arguments: unknown }

/** All calls of a reply, by name and arguments. */
export function stackCalls(...wanted: readonly (readonly [name: string, args: unknown])[]): Check {
  return has('completion_message.tool_calls', (found: readonly StackCall[] | undefined) =>
    isDeepStrictEqual(
      found?.map((call) => [call.tool_name, call.arguments]),
      wanted,
    ),
  )
}
