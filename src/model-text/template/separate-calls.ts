import { appendTo } from './join-content.ts'
import { placeFinder } from './order-results.ts'
import type { TemplateTraits } from './template-traits.ts'
import type { Turn } from './turn.ts'

type Assistant = Extract<Turn, { role: 'assistant' }>
type Result = Extract<Turn, { role: 'tool' }>
type Separation = Pick<TemplateTraits, 'callsTogether' | 'callsBesideText' | 'textBeforeCalls'>

/**
 * Rewrites turns whose calls the template refuses or loses: where it shows one call in a turn, each call gets a turn, with its
 * result behind it; where it shows either text or calls, the text gets a turn of its own in front. Where turns must alternate
 * and that one would count, the text ends what stands before it.
 */
export function separateCalls(messages: readonly Turn[], traits: Separation): Turn[] {
  const result: Turn[] = []
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]
    if (message === undefined) break
    if (message.role !== 'assistant' || message.toolCalls.length === 0) {
      result.push(message)
      continue
    }
    const calls = traits.callsBesideText ? message : takeText(message, result, traits)
    if (traits.callsTogether || calls.toolCalls.length === 1) {
      result.push(calls)
      continue
    }
    const end = messages.findIndex((next, place) => place > index && next.role !== 'tool')
    const results = messages.slice(index + 1, end === -1 ? messages.length : end).filter((next) => next.role === 'tool')
    result.push(...oneByOne(calls, results))
    index += results.length
  }
  return result
}

/** The turn without its text, which goes to the end of what is written before it. */
function takeText(message: Assistant, before: Turn[], { textBeforeCalls }: Separation): Assistant {
  const hasText = message.content.some((part) => part.type !== 'text' || part.text !== '')
  if (!hasText) return message
  const previous = before.at(-1)
  if (!textBeforeCalls && (previous?.role === 'user' || previous?.role === 'tool')) {
    before[before.length - 1] = appendTo(previous, message.content)
    return { ...message, content: [] }
  }
  before.push({ ...message, toolCalls: [] })
  const { reasoning: _, ...rest } = message
  return { ...rest, content: [] }
}

/** Results of calls that the turn does not hold stay, behind the last. */
function oneByOne(message: Assistant, results: readonly Result[]): Turn[] {
  const placeOf = placeFinder(message.toolCalls)
  const byPlace = new Map<number | undefined, Result[]>()
  for (const result of results) {
    const place = placeOf(result)
    byPlace.set(place, [...(byPlace.get(place) ?? []), result])
  }
  const answers = (place: number | undefined) => byPlace.get(place) ?? []
  const { reasoning: _, ...rest } = message
  const turns = message.toolCalls.flatMap((call, index): Turn[] => [
    index === 0 ? { ...message, toolCalls: [call] } : { ...rest, content: [], toolCalls: [call] },
    ...answers(index),
  ])
  return [...turns, ...answers(undefined)]
}
