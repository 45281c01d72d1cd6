import type { Message } from '../request.ts'
import type { TemplateTraits } from './template-traits.ts'

type Assistant = Extract<Message, { role: 'assistant' }>
type Separation = Pick<TemplateTraits, 'callsTogether' | 'callsBesideText'>

/**
 * Rewrites turns whose calls the template refuses or loses: where it shows one call in a turn, each call gets a turn, with its
 * result behind it; where it shows either text or calls, the text gets a turn of its own in front.
 */
export function separateCalls(messages: readonly Message[], { callsTogether, callsBesideText }: Separation): Message[] {
  const result: Message[] = []
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]
    if (message === undefined) break
    if (message.role !== 'assistant' || message.toolCalls.length === 0) {
      result.push(message)
      continue
    }
    const turns = callsBesideText ? [message] : textFirst(message)
    const [calls] = turns.splice(-1)
    result.push(...turns)
    if (calls === undefined || callsTogether || calls.toolCalls.length === 1) {
      result.push(...(calls === undefined ? [] : [calls]))
      continue
    }
    const end = messages.findIndex((next, place) => place > index && next.role !== 'tool')
    const results = messages.slice(index + 1, end === -1 ? messages.length : end)
    result.push(...oneByOne(calls, results))
    index += results.length
  }
  return result
}

function textFirst(message: Assistant): Assistant[] {
  const hasText = message.content.some((part) => part.type !== 'text' || part.text !== '')
  if (!hasText) return [message]
  const { reasoning: _, ...rest } = message
  return [
    { ...message, toolCalls: [] },
    { ...rest, content: [] },
  ]
}

/** Results of calls that the turn does not hold stay, behind the last. */
function oneByOne(message: Assistant, results: readonly Message[]): Message[] {
  const answers = (id: string) => results.filter((result) => result.role === 'tool' && result.toolCallId === id)
  const { reasoning: _, ...rest } = message
  const turns = message.toolCalls.flatMap((call, index): Message[] => [
    index === 0 ? { ...message, toolCalls: [call] } : { ...rest, content: [], toolCalls: [call] },
    ...answers(call.id),
  ])
  return [...turns, ...results.filter((result) => !turns.includes(result))]
}
