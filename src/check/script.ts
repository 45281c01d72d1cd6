import { isObject } from '../base/json.ts'
import type { Answer } from './compare.ts'
import { listAt, textAt } from './probe/read.ts'

/** A turn of `startScripted` (`dragoman/testing`). */
export type RecordedTurn = {
  readonly match?: string
  readonly result?: string
  readonly say?: string
  readonly calls?: readonly { readonly name: string; readonly arguments: object }[]
}

/**
 * The turn that answers as the model has answered a conversation: to the result of the same tool, else to the same last words of the user.
 * Undefined for an answer that was not there, and for words that cannot be found.
 */
export function recordedTurn(body: unknown, { text, calls, failure }: Answer): RecordedTurn | undefined {
  const last = [...listAt(body, 'messages'), ...listAt(body, 'input')].at(-1) ?? textAt(body, 'input')
  const result = resultIn(last)
  const words = result ?? textIn(last)
  if (failure !== undefined || words === undefined || words === '') return undefined
  const pattern = `^${words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`
  const called = calls.map(({ name, input }) => ({ name, arguments: isObject(input) ? input : {} }))
  return {
    ...(result === undefined ? { match: pattern } : { result: pattern }),
    ...(text !== '' && { say: text }),
    ...(called.length > 0 && { calls: called }),
  }
}

/** Results come first: after one, the question before it would match as well. */
export function inOrder(turns: readonly RecordedTurn[]): readonly RecordedTurn[] {
  // The first of equal turns would answer in any case.
  const known = new Set<string>()
  const isNew = ({ match, result }: RecordedTurn) => {
    const key = JSON.stringify([match, result])
    return !known.has(key) && known.add(key)
  }
  const distinct = turns.filter(isNew)
  return [...distinct.filter(({ result }) => result !== undefined), ...distinct.filter(({ result }) => result === undefined)]
}

/** The result of a tool, if that is what a conversation ends with. */
function resultIn(message: unknown): string | undefined {
  if (textAt(message, 'role') === 'tool') return textIn(message)
  if (textAt(message, 'type') === 'function_call_output') return textAt(message, 'output')
  const block = listAt(message, 'content').findLast((part) => textAt(part, 'type') === 'tool_result')
  return block === undefined ? undefined : textIn(block)
}

function textIn(message: unknown): string | undefined {
  if (typeof message === 'string') return message
  const parts = listAt(message, 'content').flatMap((part) => textAt(part, 'text') ?? [])
  return textAt(message, 'content') ?? (parts.length > 0 ? parts.join('') : undefined)
}
