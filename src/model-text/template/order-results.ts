import type { ToolCallPart } from '../../contract/request.ts'
import type { TemplateTurn } from './turn.ts'

type Result = Extract<TemplateTurn, { role: 'tool' }>

/**
 * Puts the results of parallel calls into the order of the calls, with results of unknown calls last. Each gets the name of
 * its function, which some templates print and callers may omit.
 */
export function orderToolResults(messages: readonly TemplateTurn[]): TemplateTurn[] {
  const ordered: TemplateTurn[] = []
  // Ids may repeat in a conversation: a result belongs to the latest call before it.
  const names = new Map<string, string>()
  let calls: readonly ToolCallPart[] = []
  let findCall = createCallFinder(calls)
  let run: Result[] = []
  const flush = () => {
    const ranked = run.map((result) => ({ result, rank: findCall(result) ?? Number.MAX_SAFE_INTEGER }))
    for (const { result, rank } of ranked.sort((a, b) => a.rank - b.rank)) {
      const name = result.name ?? calls[rank]?.name ?? names.get(result.toolCallId)
      ordered.push(name === undefined ? result : { ...result, name })
    }
    run = []
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      run.push(message)
      continue
    }
    flush()
    if (message.role === 'assistant') {
      // Parallel calls may be in turns of their own.
      calls = ordered.at(-1)?.role === 'assistant' ? [...calls, ...message.toolCalls] : message.toolCalls
      findCall = createCallFinder(calls)
      for (const { id, name } of message.toolCalls) names.set(id, name)
    }
    ordered.push(message)
  }
  flush()
  return ordered
}

/**
 * Returns a function that maps each result, in order, to the index of its call. Some clients give several calls of one turn
 * the same id: results are assigned to them in order, and any further results to the last.
 */
export function createCallFinder(calls: readonly ToolCallPart[]): (result: Result) => number | undefined {
  const free = new Map<string, number[]>()
  for (const [index, { id }] of calls.entries()) {
    const same = free.get(id)
    if (same === undefined) free.set(id, [index])
    else same.push(index)
  }
  return ({ toolCallId }) => {
    const indexes = free.get(toolCallId)
    return indexes !== undefined && indexes.length > 1 ? indexes.shift() : indexes?.[0]
  }
}
