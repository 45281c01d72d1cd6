import type { LlamaModel, Token } from 'node-llama-cpp'
import type { ReasoningWatch } from '../reasoning-watch.ts'
import type { Command } from './ipc.ts'

type RunCommand = Extract<Command, { type: 'run' }>

/**
 * Says which token must come next: those of the closing mark, one after the other, once reasoning has had its tokens.
 * `undefined` when the run has no budget, or no reasoning to spend it on.
 */
export function closeAtBudget(
  model: LlamaModel,
  { watch, command }: { watch: ReasoningWatch | undefined; command: RunCommand },
): (() => Token | undefined) | undefined {
  const { reasoningBudget, shape } = command
  const close = shape.format?.reasoning?.close
  if (reasoningBudget === undefined || watch === undefined || close === undefined) return undefined
  const closing = model.tokenize(close, true, 'trimLeadingSpace')
  let at: number | undefined
  return () => {
    if (at === undefined && watch.inside && watch.tokens >= reasoningBudget) at = 0
    return at === undefined ? undefined : closing[at++]
  }
}
