import type { ToolCallPart } from '../../contract/request.ts'
import type { Turn } from './turn.ts'

type Result = Extract<Turn, { role: 'tool' }>

/**
 * Results of parallel calls, in the order of the calls; results of unknown calls stay last, in their own order. Each gets the
 * name of its function, which some templates print and callers need not repeat.
 */
export function orderToolResults(messages: readonly Turn[]): Turn[] {
  const ordered: Turn[] = []
  // Ids need not be unique in a conversation: what counts is the latest call before the result.
  const names = new Map<string, string>()
  let calls: readonly ToolCallPart[] = []
  let placeOf = placeFinder(calls)
  let run: Result[] = []
  const flush = () => {
    const ranked = run.map((result) => ({ result, rank: placeOf(result) ?? Number.MAX_SAFE_INTEGER }))
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
      calls = message.toolCalls
      placeOf = placeFinder(calls)
      for (const { id, name } of calls) names.set(id, name)
    }
    ordered.push(message)
  }
  flush()
  return ordered
}

/**
 * Tells, result after result, which of the calls it answers. Some clients give several calls of one turn the same id: they are
 * answered one after the other, and what is left over belongs to the last of them.
 */
export function placeFinder(calls: readonly ToolCallPart[]): (result: Result) => number | undefined {
  const free = new Map<string, number[]>()
  for (const [place, { id }] of calls.entries()) {
    const same = free.get(id)
    if (same === undefined) free.set(id, [place])
    else same.push(place)
  }
  return ({ toolCallId }) => {
    const places = free.get(toolCallId)
    return places !== undefined && places.length > 1 ? places.shift() : places?.[0]
  }
}
