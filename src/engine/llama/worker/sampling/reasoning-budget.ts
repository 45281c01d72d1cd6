import type { ReasoningWatch } from '../../../shared/reasoning-watch.ts'
import type { Model } from '../../binding/model.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { RunCommand } from '../../channel/ipc.ts'

/**
 * Returns the tokens to insert: those of the message and of the closing tag, one after another, when the reasoning has used its budget.
 * `undefined` for a run without a budget or without reasoning. While a grammar forbids them, such as inside a call, reasoning continues.
 */
export function closeAtBudget(
  model: Pick<Model, 'tokenize'>,
  { watch, command, allows }: { watch: ReasoningWatch | undefined; command: RunCommand; allows: (token: Token) => boolean },
): (() => Token | undefined) | undefined {
  const { reasoningBudget, plan } = command
  const close = plan.format?.reasoning?.close
  if (reasoningBudget === undefined || watch === undefined || close === undefined) return undefined
  // A closing tag within the message would turn the rest of it into the answer.
  const [message = ''] = reasoningBudget.message?.split(close.trim()) ?? []
  const closing = [
    ...(message === '' ? [] : model.tokenize(message, false, 'trimLeadingSpace')),
    ...model.tokenize(close, true, 'trimLeadingSpace'),
  ]
  let at: number | undefined
  return () => {
    const [first] = closing
    if (at === undefined && watch.inside && watch.tokens >= reasoningBudget.tokens && first !== undefined && allows(first)) at = 0
    return at === undefined ? undefined : closing[at++]
  }
}
