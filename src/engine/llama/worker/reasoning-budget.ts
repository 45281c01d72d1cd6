import type { LlamaModel, Token } from 'node-llama-cpp'
import type { ReasoningWatch } from '../../reasoning-watch.ts'
import type { RunCommand } from './run-control.ts'

/**
 * Says which token must come next: those of the closing mark, one after the other, once reasoning has had its tokens.
 * `undefined` when the run has no budget, or no reasoning to spend it on. Where a grammar holds that does not allow the mark, in
 * the middle of a call, reasoning goes on until it does.
 */
export function closeAtBudget(
  model: LlamaModel,
  { watch, command, allows }: { watch: ReasoningWatch | undefined; command: RunCommand; allows: (token: Token) => boolean },
): (() => Token | undefined) | undefined {
  const { reasoningBudget, shape } = command
  const close = shape.format?.reasoning?.close
  if (reasoningBudget === undefined || watch === undefined || close === undefined) return undefined
  const closing = model.tokenize(close, true, 'trimLeadingSpace')
  let at: number | undefined
  return () => {
    const [first] = closing
    if (at === undefined && watch.inside && watch.tokens >= reasoningBudget && first !== undefined && allows(first)) at = 0
    return at === undefined ? undefined : closing[at++]
  }
}
